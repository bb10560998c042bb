import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { declaredFiles } from '../../test/support/zip-reader.ts'
import { directoryRecord, type Entry, endRecords, localHeader, type WrittenEntry } from './records.ts'

const entryOf = (path: string, content: string): Entry => ({
  ...{ path, mode: 0o100644, isDeflated: false, crc32: crc32(content) },
  ...{ packedBytes: Buffer.byteLength(content), bytes: Buffer.byteLength(content) },
})

test('more entries than the format had at first are counted by zip64', async () => {
  const count = 70_000
  const pieces: Buffer[] = []
  const written: WrittenEntry[] = []
  let offset = 0
  for (let at = 0; at < count; at++) {
    const entry = entryOf(`${at}`, 'x')
    written.push({ ...entry, offset, isStreamed: false })
    for (const piece of [localHeader(entry), Buffer.from('x')]) {
      pieces.push(piece)
      offset += piece.length
    }
  }
  const directory = Buffer.concat(written.map(directoryRecord))
  const end = endRecords({ entries: count, bytes: directory.length, offset })
  const files = await declaredFiles(Buffer.concat([...pieces, directory, end]))
  assert.equal(Object.keys(files).length, count)
})

test('an entry beyond 4 GiB has its place in a zip64 field', () => {
  const offset = 5 * 1024 ** 3
  const record = directoryRecord({ ...entryOf('far', 'x'), offset, isStreamed: false })
  assert.equal(record.readUInt32LE(42), 0xffffffff)
  const extra = record.subarray(46 + 'far'.length)
  assert.deepEqual([extra.readUInt16LE(0), extra.readUInt16LE(2)], [1, 8])
  assert.equal(extra.readBigUInt64LE(4), BigInt(offset))
  const end = endRecords({ entries: 1, bytes: record.length, offset })
  assert.equal(end.readBigUInt64LE(48), BigInt(offset), 'and so has the directory')
})
