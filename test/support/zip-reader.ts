/**
 * The contents of a zip by its last central directory alone: a minimal reader that trusts every field, and fails only
 * where data has another checksum than the directory gives, or is shared. Tests compare unpacked files with its result.
 */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { crc32, inflateRawSync } from 'node:zlib'
import { select } from '../../src/archives/select.ts'

/** Contents by path; folders end in a slash, and a link is `-> ` and its target. */
export type Files = Record<string, string>

export async function declaredFiles(zip: Buffer): Promise<Files> {
  let end = zip.length - 22
  while (zip.readUInt32LE(end) !== 0x06054b50) end--
  let [count, at] = [zip.readUInt16LE(end + 10), zip.readUInt32LE(end + 16)]
  if (end >= 20 && zip.readUInt32LE(end - 20) === 0x07064b50) {
    const record = Number(zip.readBigUInt64LE(end - 12))
    count = Number(zip.readBigUInt64LE(record + 32))
    at = Number(zip.readBigUInt64LE(record + 48))
  }
  const entries = Array.from({ length: count }, () => {
    const nameEnd = at + 46 + zip.readUInt16LE(at + 28)
    const extra = zip.subarray(nameEnd, nameEnd + zip.readUInt16LE(at + 30))
    const plain = zip.toString('utf8', at + 46, nameEnd)
    const fullName = fieldIn(extra, 0x7075)?.subarray(5).toString() ?? plain
    const name = fullName.replace(/\/$/, '')
    const isLink = zip.readUInt16LE(at + 40) >> 12 === 0o12
    const kind = fullName !== name ? 'folder' : isLink ? 'link' : 'file'
    const zip64 = fieldIn(extra, 1) ?? Buffer.alloc(0)
    let used = 0
    // In this order: the size, the packed size, the offset (APPNOTE 4.5.3).
    const [, packedBytes, offset] = [24, 20, 42].map((field) => {
      const value = zip.readUInt32LE(at + field)
      if (value !== 0xffffffff || used + 8 > zip64.length) return value
      used += 8
      return Number(zip64.readBigUInt64LE(used - 8))
    }) as [number, number, number]
    const start = offset + 30 + zip.readUInt16LE(offset + 26) + zip.readUInt16LE(offset + 28)
    const packed = zip.subarray(start, start + packedBytes)
    const isDeflated = zip.readUInt16LE(at + 10) === 8 && packedBytes > 0
    const checksum = zip.readUInt32LE(at + 16)
    at = nameEnd + extra.length + zip.readUInt16LE(at + 32)
    /** Called for what is unpacked: the data of the rest, such as `.git`, is not read. */
    function content(): string {
      const bytes = isDeflated ? inflateRawSync(packed) : packed
      assert.equal(crc32(bytes), checksum, 'the data has the checksum that the directory says')
      return kind === 'link' ? `-> ${bytes}` : bytes.toString('latin1')
    }
    return { name, kind, content, from: offset, to: start + packedBytes } as const
  })
  const inOrder = entries.toSorted((one, other) => one.from - other.from)
  for (const [n, { from }] of inOrder.entries()) assert.ok(from >= (inOrder[n - 1]?.to ?? 0), 'no data is shared')
  const files: Files = {}
  for (const { path, entry } of (await select(entries)).selected) {
    files[entry.kind === 'folder' ? `${path}/` : path] = entry.content()
    for (let above = dirname(path); above !== '.'; above = dirname(above)) files[`${above}/`] = ''
  }
  return files
}

function fieldIn(extra: Buffer, id: number): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) === id) return extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2))
  }
  return undefined
}
