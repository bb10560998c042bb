/**
 * The end records of a zip, where reading begins (APPNOTE 4.3.14 to 4.3.16). Stricter than the format: there may be no data
 * before the first entry, between the directory and its end record, or after the comment. Entries that the directory does not
 * name are ignored.
 */
import { notZip } from './refusals.ts'
import type { Window } from './window.ts'

const END = { signature: 0x06054b50, bytes: 22 }
const LOCATOR_64 = { signature: 0x07064b50, bytes: 20 }
const END_64 = { signature: 0x06064b50, bytes: 56 }
const MAX_COMMENT_BYTES = 0xffff

export type Directory = { start: number; end: number; entries: number }

export async function findDirectory(file: Window): Promise<Directory> {
  const end = await findEnd(file)
  const record = (await findEnd64(file, end.position)) ?? end
  if (record.disk !== 0 || record.directoryDisk !== 0 || record.entriesOnDisk !== record.entries) {
    throw notZip('it is one of several disks')
  }
  if (record.directoryStart + record.directoryBytes !== record.position) {
    throw notZip('its directory is not where it should be')
  }
  return { start: record.directoryStart, end: record.position, entries: record.entries }
}

type EndRecord = {
  position: number
  disk: number
  directoryDisk: number
  entriesOnDisk: number
  entries: number
  directoryBytes: number
  directoryStart: number
}

async function findEnd(file: Window): Promise<EndRecord> {
  const tailBytes = Math.min(file.size, END.bytes + MAX_COMMENT_BYTES)
  const tail = await file.read(file.size - tailBytes, tailBytes)
  if (!tail) throw notZip('it could not be read to its end')
  for (let at = tailBytes - END.bytes; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== END.signature) continue
    if (at + END.bytes + tail.readUInt16LE(at + 20) !== tailBytes) throw notZip('it goes on after its end')
    return {
      position: file.size - tailBytes + at,
      disk: tail.readUInt16LE(at + 4),
      directoryDisk: tail.readUInt16LE(at + 6),
      entriesOnDisk: tail.readUInt16LE(at + 8),
      entries: tail.readUInt16LE(at + 10),
      directoryBytes: tail.readUInt32LE(at + 12),
      directoryStart: tail.readUInt32LE(at + 16),
    }
  }
  throw notZip('it has no end record')
}

/** The zip64 record, which an archive has whose sizes do not fit into 16 and 32 bits. */
async function findEnd64(file: Window, endPosition: number): Promise<EndRecord | undefined> {
  const locator = await file.read(endPosition - LOCATOR_64.bytes, LOCATOR_64.bytes)
  if (locator?.readUInt32LE(0) !== LOCATOR_64.signature) return undefined
  if (locator.readUInt32LE(4) !== 0 || locator.readUInt32LE(16) > 1) throw notZip('it is one of several disks')
  const position = number64(locator, 8)
  const record = await file.read(position, END_64.bytes)
  if (record?.readUInt32LE(0) !== END_64.signature) throw notZip('its zip64 end record is not where it should be')
  if (position + 12 + number64(record, 4) + LOCATOR_64.bytes !== endPosition) {
    throw notZip('its zip64 end record has another size')
  }
  return {
    position,
    disk: record.readUInt32LE(16),
    directoryDisk: record.readUInt32LE(20),
    entriesOnDisk: number64(record, 24),
    entries: number64(record, 32),
    directoryBytes: number64(record, 40),
    directoryStart: number64(record, 48),
  }
}

/** Precise for every real file size; a larger number is false and exceeds every limit. */
const number64 = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at))
