/**
 * The records of a zip (APPNOTE 4.3), with zip64 where numbers need it. Names are UTF-8, and all times are the first that the
 * format has, so equal entries are equal bytes.
 */

/** What both headers of an entry have. */
export type Entry = {
  path: string
  mode: number
  /** Whether the data is deflated. */
  isDeflated: boolean
  crc32: number
  packedBytes: number
  bytes: number
}

/** `offset`: where its local header is. */
export type WrittenEntry = Entry & { offset: number; isStreamed: boolean }

const MAX_16 = 0xffff
const MAX_32 = 0xffffffff
const VERSION = 20
const VERSION_ZIP64 = 45
const UNIX = 3 << 8
const UTF8 = 1 << 11
/** Sizes and checksum come after the data. */
const STREAMED = 1 << 3
const DEFLATED = 8
/** The first of January 1980, at midnight. */
const DATE = (1 << 5) | 1
const ZIP64_FIELD = 1

/** Of an entry whose data is known. */
export const localHeader = (entry: Entry): Buffer => header({ ...entry, isStreamed: false })

/** Of an entry whose data follows as a stream: its descriptor comes after the data. */
export const streamedHeader = ({ path, isDeflated }: Pick<Entry, 'path' | 'isDeflated'>): Buffer =>
  header({ path, isDeflated, crc32: 0, packedBytes: 0, bytes: 0, isStreamed: true })

function header(entry: Omit<Entry, 'mode'> & { isStreamed: boolean }): Buffer {
  const name = Buffer.from(entry.path)
  const record = Buffer.alloc(30 + name.length)
  record.writeUInt32LE(0x04034b50, 0)
  record.writeUInt16LE(VERSION, 4)
  writeCommon(record, 6, entry, name.length)
  name.copy(record, 30)
  return record
}

/** From the flags to the length of the name, as both headers have them. */
function writeCommon(
  record: Buffer,
  at: number,
  { isDeflated, isStreamed, crc32, packedBytes, bytes }: Omit<Entry, 'mode' | 'path'> & { isStreamed: boolean },
  nameLength: number,
) {
  record.writeUInt16LE(UTF8 | (isStreamed ? STREAMED : 0), at)
  record.writeUInt16LE(isDeflated ? DEFLATED : 0, at + 2)
  record.writeUInt16LE(0, at + 4)
  record.writeUInt16LE(DATE, at + 6)
  record.writeUInt32LE(crc32, at + 8)
  record.writeUInt32LE(packedBytes, at + 12)
  record.writeUInt32LE(bytes, at + 16)
  record.writeUInt16LE(nameLength, at + 20)
}

export function dataDescriptor({ crc32, packedBytes, bytes }: Pick<Entry, 'crc32' | 'packedBytes' | 'bytes'>): Buffer {
  const record = Buffer.alloc(16)
  record.writeUInt32LE(0x08074b50, 0)
  record.writeUInt32LE(crc32, 4)
  record.writeUInt32LE(packedBytes, 8)
  record.writeUInt32LE(bytes, 12)
  return record
}

/** The record of an entry in the directory at the end. */
export function directoryRecord(entry: WrittenEntry): Buffer {
  const name = Buffer.from(entry.path)
  const isFar = entry.offset >= MAX_32
  const record = Buffer.alloc(46 + name.length + (isFar ? 12 : 0))
  record.writeUInt32LE(0x02014b50, 0)
  record.writeUInt16LE(UNIX | (isFar ? VERSION_ZIP64 : VERSION), 4)
  record.writeUInt16LE(isFar ? VERSION_ZIP64 : VERSION, 6)
  writeCommon(record, 8, entry, name.length)
  record.writeUInt16LE(isFar ? 12 : 0, 30)
  record.writeUInt32LE(entry.mode * 2 ** 16, 38)
  record.writeUInt32LE(isFar ? MAX_32 : entry.offset, 42)
  name.copy(record, 46)
  if (isFar) {
    record.writeUInt16LE(ZIP64_FIELD, 46 + name.length)
    record.writeUInt16LE(8, 48 + name.length)
    record.writeBigUInt64LE(BigInt(entry.offset), 50 + name.length)
  }
  return record
}

/** `offset`: where the directory begins, which has so many bytes. */
export function endRecords({ entries, bytes, offset }: { entries: number; bytes: number; offset: number }): Buffer {
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Math.min(entries, MAX_16), 8)
  end.writeUInt16LE(Math.min(entries, MAX_16), 10)
  end.writeUInt32LE(Math.min(bytes, MAX_32), 12)
  end.writeUInt32LE(Math.min(offset, MAX_32), 16)
  if (entries < MAX_16 && bytes < MAX_32 && offset < MAX_32) return end
  const large = Buffer.alloc(56 + 20)
  large.writeUInt32LE(0x06064b50, 0)
  large.writeBigUInt64LE(44n, 4)
  large.writeUInt16LE(UNIX | VERSION_ZIP64, 12)
  large.writeUInt16LE(VERSION_ZIP64, 14)
  large.writeBigUInt64LE(BigInt(entries), 24)
  large.writeBigUInt64LE(BigInt(entries), 32)
  large.writeBigUInt64LE(BigInt(bytes), 40)
  large.writeBigUInt64LE(BigInt(offset), 48)
  large.writeUInt32LE(0x07064b50, 56)
  large.writeBigUInt64LE(BigInt(offset + bytes), 64)
  large.writeUInt32LE(1, 72)
  return Buffer.concat([large, end])
}

/** Larger ones would need sizes of zip64, and the service takes none. */
export const MAX_ENTRY_BYTES = MAX_32 - 1
