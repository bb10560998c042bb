/** A zip of a few small files, in memory. Equal files in the same order are equal bytes. */
import zlib from 'node:zlib'
import { directoryRecord, type Entry, endRecords, localHeader, type WrittenEntry } from './records.ts'

export type SmallFile = { path: string; content: Buffer }

const PLAIN_FILE = 0o100644

export function zipSmall(files: readonly SmallFile[]): Buffer {
  const pieces: Buffer[] = []
  const entries: WrittenEntry[] = []
  let offset = 0
  for (const { path, content } of files) {
    const data = zlib.deflateRawSync(content)
    const sizes = { crc32: zlib.crc32(content), packedBytes: data.length, bytes: content.length }
    const entry: Entry = { path, mode: PLAIN_FILE, isDeflated: true, ...sizes }
    const header = localHeader(entry)
    entries.push({ ...entry, offset, isStreamed: false })
    pieces.push(header, data)
    offset += header.length + data.length
  }
  const directory = Buffer.concat(entries.map(directoryRecord))
  return Buffer.concat([...pieces, directory, endRecords({ entries: entries.length, bytes: directory.length, offset })])
}
