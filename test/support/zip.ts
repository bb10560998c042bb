/** Zip archives for tests: honest ones, and ones that lie in any field that the format has (APPNOTE 4.3). */
import { crc32, deflateRawSync } from 'node:zlib'

/** A name that ends in a slash is a folder, whatever its content. */
export type ZipContent = string | Buffer | { content: string | Buffer; mode: number } | { link: string }

/** An archive as any tool would make it: deflated, with Unix modes (0o644 unless another is given). */
export const zipOf = (files: Record<string, ZipContent>): Buffer =>
  writeZip(Object.entries(files).map(([name, content]) => entryOf(name, content)))

export function entryOf(name: string, content: ZipContent): ZipEntry {
  if (name.endsWith('/')) return { name, content: '', mode: 0o040755 }
  if (typeof content === 'string' || Buffer.isBuffer(content)) return { name, content, mode: 0o100644 }
  if ('link' in content) return { name, content: content.link, mode: 0o120777, method: 0 }
  return { name, content: content.content, mode: 0o100000 | content.mode }
}

/** The fields of a header. All but the name are computed from the content, unless given. */
export type ZipHeader = {
  name: string | Buffer
  madeBy: number
  flags: number
  method: number
  crc32: number
  compressedSize: number
  size: number
  extra: Buffer
  comment: string
  disk: number
  attributes: number
  offset: number
}

export type ZipEntry = Partial<ZipHeader> & {
  name: string | Buffer
  content?: string | Buffer
  /** The raw data in the file, if it is not the content packed by the method. */
  packed?: Buffer
  mode?: number
  /** Bytes before the header. */
  gap?: Buffer
  /** Fields of the local header alone. */
  local?: Partial<ZipHeader>
  /** Fields of the central directory alone. */
  central?: Partial<ZipHeader>
  /** Leaves out the data and its local header: the directory points at those of another entry. */
  isOnlyInDirectory?: boolean
}

export type ZipEnd = {
  disk: number
  directoryDisk: number
  entriesOnDisk: number
  entries: number
  directorySize: number
  directoryOffset: number
  comment: string
  commentLength: number
  /** Writes the zip64 records too, with these fields in place of the true ones. */
  zip64: Partial<Zip64End>
  /** Bytes between the directory and its end. */
  gap: Buffer
}

export type Zip64End = {
  recordSize: bigint
  disk: number
  entries: bigint
  directorySize: bigint
  directoryOffset: bigint
  recordOffset: bigint
  disks: number
}

export function writeZip(entries: readonly ZipEntry[], end: Partial<ZipEnd> = {}): Buffer {
  const file: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0

  function append(...pieces: Buffer[]) {
    for (const piece of pieces) {
      at += piece.length
      file.push(piece)
    }
  }

  for (const entry of entries) {
    const { content = '', packed, mode = 0o100644, gap, local, central, isOnlyInDirectory, ...given } = entry
    const plain = Buffer.from(content)
    const method = given.method ?? 8
    const data = packed ?? (method === 8 ? deflateRawSync(plain) : plain)
    if (gap) append(gap)
    const header: ZipHeader = {
      madeBy: (3 << 8) | 20,
      flags: 1 << 11,
      method,
      crc32: crc32(plain),
      compressedSize: data.length,
      size: plain.length,
      extra: Buffer.alloc(0),
      comment: '',
      disk: 0,
      attributes: (mode << 16) >>> 0,
      offset: at,
      ...given,
    }
    if (!isOnlyInDirectory) append(localHeader({ ...header, ...local }), data)
    directory.push(centralHeader({ ...header, ...central }))
  }

  const directoryOffset = at
  append(Buffer.concat(directory))
  const directoryFacts = { entries: entries.length, directorySize: at - directoryOffset, directoryOffset }
  if (end.gap) append(end.gap)
  if (end.zip64) append(...zip64End(at, directoryFacts, end.zip64))
  append(endRecord(directoryFacts, end))
  return Buffer.concat(file)
}

/** Fields of a record one after the other: [bytes, value]. */
function record(...fields: readonly (readonly [2 | 4 | 8, number | bigint])[]): Buffer {
  const buffer = Buffer.alloc(fields.reduce((sum, [bytes]) => sum + bytes, 0))
  let at = 0
  for (const [bytes, value] of fields) {
    if (bytes === 2) buffer.writeUInt16LE(Number(value), at)
    else if (bytes === 4) buffer.writeUInt32LE(Number(value), at)
    else buffer.writeBigUInt64LE(BigInt(value), at)
    at += bytes
  }
  return buffer
}

function localHeader(header: ZipHeader): Buffer {
  const name = Buffer.from(header.name)
  const fixed = record(
    [4, 0x04034b50],
    [2, 20],
    [2, header.flags],
    [2, header.method],
    [4, 0x5a210000],
    [4, header.crc32],
    [4, header.compressedSize],
    [4, header.size],
    [2, name.length],
    [2, header.extra.length],
  )
  return Buffer.concat([fixed, name, header.extra])
}

function centralHeader(header: ZipHeader): Buffer {
  const [name, comment] = [Buffer.from(header.name), Buffer.from(header.comment)]
  const fixed = record(
    [4, 0x02014b50],
    [2, header.madeBy],
    [2, 20],
    [2, header.flags],
    [2, header.method],
    [4, 0x5a210000],
    [4, header.crc32],
    [4, header.compressedSize],
    [4, header.size],
    [2, name.length],
    [2, header.extra.length],
    [2, comment.length],
    [2, header.disk],
    [2, 0],
    [4, header.attributes],
    [4, header.offset],
  )
  return Buffer.concat([fixed, name, header.extra, comment])
}

type Directory = { entries: number; directorySize: number; directoryOffset: number }

function endRecord({ entries, directorySize, directoryOffset }: Directory, end: Partial<ZipEnd>): Buffer {
  const comment = Buffer.from(end.comment ?? '')
  const fixed = record(
    [4, 0x06054b50],
    [2, end.disk ?? 0],
    [2, end.directoryDisk ?? 0],
    [2, end.entriesOnDisk ?? end.entries ?? entries],
    [2, end.entries ?? entries],
    [4, end.directorySize ?? directorySize],
    [4, end.directoryOffset ?? directoryOffset],
    [2, end.commentLength ?? comment.length],
  )
  return Buffer.concat([fixed, comment])
}

function zip64End(
  position: number,
  { entries, directorySize, directoryOffset }: Directory,
  end: Partial<Zip64End>,
): Buffer[] {
  return [
    record(
      [4, 0x06064b50],
      [8, end.recordSize ?? 44],
      [2, (3 << 8) | 45],
      [2, 45],
      [4, end.disk ?? 0],
      [4, end.disk ?? 0],
      [8, end.entries ?? entries],
      [8, end.entries ?? entries],
      [8, end.directorySize ?? directorySize],
      [8, end.directoryOffset ?? directoryOffset],
    ),
    record([4, 0x07064b50], [4, 0], [8, end.recordOffset ?? position], [4, end.disks ?? 1]),
  ]
}

/** An extra field: APPNOTE 4.5. */
export const extraField = (id: number, data: Buffer): Buffer => Buffer.concat([record([2, id], [2, data.length]), data])

/** The zip64 field of an entry, for the sizes and the offset that stand as 0xffffffff in its header. */
export const zip64Field = (...values: readonly bigint[]): Buffer =>
  extraField(1, record(...values.map((value) => [8, value] as const)))
