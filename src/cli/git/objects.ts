/**
 * Reads one commit of a repository: from a file of its own, or out of a pack (gitformat-pack(5)). Every size that a
 * repository states is bounded before anything is read or inflated by it.
 */
import { type FileHandle, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { constants, inflateSync } from 'node:zlib'
import { NotPlain, withPlainFile } from '../project/small-files.ts'
import { type Repository, readPlain } from './head.ts'

/** Commits have a few hundred bytes; the rest of a longer one is not read. */
const MAX_COMMIT_BYTES = 64 * 1024
const MAX_PACKS = 1000
/** Git makes chains of 50 at most. */
const MAX_CHAIN = 60

/** The content of a commit, or its beginning where it is long. Undefined where it is not found or has another form. */
export async function readCommit({ common }: Repository, sha: string): Promise<Buffer | undefined> {
  const loose = await readPlain(join(common, 'objects', sha.slice(0, 2), sha.slice(2)), MAX_COMMIT_BYTES)
  const inflated = loose && inflate(loose)
  if (inflated) return /^commit \d+\0/.test(inflated.toString('latin1', 0, 32)) ? afterNul(inflated) : undefined
  const found = await findInPacks(join(common, 'objects', 'pack'), sha)
  return found && (await withFile(found.pack, (pack) => readPacked(pack, found.offset, MAX_CHAIN)))
}

const afterNul = (object: Buffer): Buffer => object.subarray(object.indexOf(0) + 1)

type Place = { pack: string; offset: number }

async function findInPacks(folder: string, sha: string): Promise<Place | undefined> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
  for (const name of names.filter((one) => one.endsWith('.idx')).slice(0, MAX_PACKS)) {
    const offset = await withFile(join(folder, name), (index) => offsetIn(index, Buffer.from(sha, 'hex')))
    if (offset !== undefined) return { pack: join(folder, name.replace(/idx$/, 'pack')), offset }
  }
  return undefined
}

const IDX_HEAD = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2])
const FANOUT_BYTES = 256 * 4
const TABLES_AT = IDX_HEAD.length + FANOUT_BYTES

/** The offset of the object in the pack of this index: version 2, sorted by id. */
async function offsetIn(index: FileHandle, id: Buffer): Promise<number | undefined> {
  const head = await readAt(index, 0, TABLES_AT)
  if (head.length < TABLES_AT || !head.subarray(0, IDX_HEAD.length).equals(IDX_HEAD)) return undefined
  const fanout = (byte: number) => (byte < 0 ? 0 : head.readUInt32BE(IDX_HEAD.length + byte * 4))
  const count = fanout(255)
  let [low, high] = [fanout((id[0] ?? 0) - 1), fanout(id[0] ?? 0)]
  while (low < high) {
    // A damaged index states up to 2^32 entries, and the sum of two such numbers has no 32 bits any more.
    const middle = Math.floor((low + high) / 2)
    const found = await readAt(index, TABLES_AT + middle * id.length, id.length)
    if (found.length < id.length) return undefined
    const order = found.compare(id)
    if (order === 0) return offsetAt(index, TABLES_AT + count * (id.length + 4), middle, count)
    if (order < 0) low = middle + 1
    else high = middle
  }
  return undefined
}

/** Large packs have a second table with offsets of 8 bytes. */
async function offsetAt(index: FileHandle, at: number, entry: number, count: number): Promise<number | undefined> {
  const small = await readAt(index, at + entry * 4, 4)
  if (small.length < 4) return undefined
  const offset = small.readUInt32BE()
  if (offset < 0x80000000) return offset
  const large = await readAt(index, at + count * 4 + (offset - 0x80000000) * 8, 8)
  return large.length < 8 ? undefined : Number(large.readBigUInt64BE())
}

const COMMIT = 1
const OFFSET_DELTA = 6

/** A commit, or the difference from another one before it in the same pack. */
async function readPacked(pack: FileHandle, offset: number, chainLeft: number): Promise<Buffer | undefined> {
  const bytes = await readAt(pack, offset, MAX_COMMIT_BYTES)
  const head = objectHead(bytes)
  if (!head || chainLeft === 0) return undefined
  if (head.type === COMMIT) return inflate(bytes.subarray(head.end))
  if (head.type !== OFFSET_DELTA) return undefined
  const back = distance(bytes, head.end)
  if (!back || back.distance > offset || back.distance === 0) return undefined
  const delta = inflate(bytes.subarray(back.end))
  const base = await readPacked(pack, offset - back.distance, chainLeft - 1)
  return delta && base && applyDelta(base, delta)
}

/** The type in three bits; the length, seven bits a byte, is not needed. */
function objectHead(bytes: Buffer): { type: number; end: number } | undefined {
  const end = bytes.findIndex((byte) => byte < 128) + 1
  return end === 0 || end > 10 ? undefined : { type: ((bytes[0] ?? 0) >> 4) & 7, end }
}

function distance(bytes: Buffer, start: number): { distance: number; end: number } | undefined {
  let [at, value] = [start, -1]
  for (; at < bytes.length && at < start + 8; at++) {
    const byte = bytes[at] ?? 0
    value = (value + 1) * 128 + (byte & 127)
    if (byte < 128) return { distance: value, end: at + 1 }
  }
  return undefined
}

/** Copies pieces of the base and inserts new ones, until the result is as long as the part of a commit that is read. */
function applyDelta(base: Buffer, delta: Buffer): Buffer | undefined {
  const pieces: Buffer[] = []
  let length = 0
  let at = afterLength(delta, afterLength(delta, 0))
  while (at < delta.length && length < MAX_COMMIT_BYTES) {
    const order = delta[at++] ?? 0
    let piece: Buffer
    if (order >= 128) {
      const number = (first: number, bytes: number) => {
        let value = 0
        for (let byte = 0; byte < bytes; byte++) {
          if (order & (1 << (first + byte))) value += (delta[at++] ?? 0) * 256 ** byte
        }
        return value
      }
      const from = number(0, 4)
      const bytes = number(4, 3) || 0x10000
      piece = base.subarray(from, from + bytes)
    } else {
      if (order === 0) return undefined
      piece = delta.subarray(at, at + order)
      at += order
    }
    pieces.push(piece)
    length += piece.length
  }
  return Buffer.concat(pieces)
}

function afterLength(bytes: Buffer, start: number): number {
  let at = start
  while ((bytes[at] ?? 0) >= 128) at++
  return at + 1
}

/** As much as is there; bytes after the end are ignored. Undefined where it is not deflated. */
function inflate(bytes: Buffer): Buffer | undefined {
  try {
    return inflateSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_INFLATED_BYTES })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code?.startsWith('Z_') || code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw error
  }
}

const MAX_INFLATED_BYTES = 1024 * 1024

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  if (!Number.isSafeInteger(position)) return Buffer.alloc(0)
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/** Undefined where there is none, or something else than a plain file. */
async function withFile<T>(file: string, use: (handle: FileHandle) => Promise<T>): Promise<T | undefined> {
  try {
    return await withPlainFile(file, use)
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}
