import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { MAX_PICTURE_BYTES, PICTURE, pictureFault } from './picture.ts'

function chunk(name: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  // The checksum of an empty last chunk; of others it is not looked at.
  const checksum = Buffer.from([0xae, 0x42, 0x60, 0x82])
  return Buffer.concat([length, Buffer.from(name, 'latin1'), content, checksum])
}

function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0], 8)
  const rows = deflateSync(Buffer.alloc((width + 1) * height))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))])
}

const good = png(PICTURE.width, PICTURE.height)

test('a PNG of the size that was asked for is taken', () => {
  assert.equal(pictureFault(good), undefined)
})

test('what a hostile program may write in its place is not', () => {
  for (const [bytes, fault] of [
    [Buffer.alloc(0), /no PNG/],
    [Buffer.from('<svg onload="alert(1)"/>'), /no PNG/],
    [Buffer.concat([Buffer.from('\xff\xd8\xff', 'latin1'), good]), /no PNG/],
    [good.subarray(0, 20), /cut off/],
    [good.subarray(0, -1), /cut off/],
    [Buffer.concat([good, Buffer.from('<script>')]), /cut off/],
    [png(PICTURE.width, PICTURE.height + 1), /1280 by 801/],
    [png(1, 1), /1 by 1/],
    [Buffer.concat([good.subarray(0, -12), Buffer.alloc(MAX_PICTURE_BYTES), good.subarray(-12)]), /more than/],
  ] as const)
    assert.match(pictureFault(bytes) ?? 'taken', fault)
})
