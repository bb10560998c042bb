/** The bytes of one entry: never more than it says, and in the end exactly what it says. */
import type { FileHandle } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { crc32, createInflateRaw, inflateRaw, inflateRawSync, type ZlibOptions } from 'node:zlib'
import type { Entry } from './directory.ts'
import { notZip, sizeLies } from './refusals.ts'
import { readFully } from './window.ts'

const CHUNK_BYTES = 128 * 1024
const HEAD_CHUNK_BYTES = 16 * 1024

/** All at once: for an entry that is small by what it says. */
export async function readContent(file: FileHandle, entry: Entry): Promise<Buffer> {
  const packed = await readFully(file, Buffer.allocUnsafe(entry.compressedBytes), entry.dataStart)
  if (!packed) throw notZip('it is shorter than it was')
  const content = isPacked(entry) ? await inflate(packed, entry) : packed
  const seen = createCount(entry)
  seen.add(content)
  seen.end()
  return content
}

/** The first bytes of an entry that may be large. What comes after them is neither inflated nor checked. */
export async function readHead(file: FileHandle, entry: Entry, bytes: number): Promise<Buffer> {
  if (entry.bytes <= bytes) return await readContent(file, entry)
  const pieces: Buffer[] = []
  let seen = 0

  async function take(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      pieces.push(chunk)
      seen += chunk.length
      if (seen >= bytes) return
    }
  }

  const packed = () => packedContent(file, entry, HEAD_CHUNK_BYTES)
  if (!isPacked(entry)) await take(packed())
  else {
    const unpacking = createInflateRaw({ chunkSize: HEAD_CHUNK_BYTES })
    await pipeline(packed, unpacking, take).catch((error) => {
      // What is upstream is cut off when there is enough.
      if (seen >= bytes) return
      throw isInflateError(error) ? sizeLies(entry.name, 'data that cannot be inflated') : error
    })
  }
  return Buffer.concat(pieces).subarray(0, bytes)
}

/** Piece by piece, for any entry. */
export async function copyContent(file: FileHandle, entry: Entry, target: FileHandle, signal?: AbortSignal) {
  const seen = createCount(entry)
  const packed = () => packedContent(file, entry, CHUNK_BYTES)

  async function write(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      seen.add(chunk)
      await target.writeFile(chunk)
    }
    seen.end()
  }

  const options = signal ? { signal } : {}
  if (!isPacked(entry)) await pipeline(packed, write, options)
  else {
    const unpacking = createInflateRaw({ chunkSize: CHUNK_BYTES })
    await pipeline(packed, unpacking, write, options).catch((error) => {
      throw isInflateError(error) ? sizeLies(entry.name, 'data that cannot be inflated') : error
    })
  }
}

async function* packedContent(file: FileHandle, entry: Entry, chunkBytes: number) {
  for (let at = 0; at < entry.compressedBytes; at += chunkBytes) {
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, entry.compressedBytes - at))
    const chunk = await readFully(file, buffer, entry.dataStart + at)
    if (!chunk) throw notZip('it is shorter than it was')
    yield chunk
  }
}

/** Some write an empty file as deflated, and then nothing at all. */
const isPacked = ({ isDeflated, compressedBytes }: Entry): boolean => isDeflated && compressedBytes > 0

function createCount({ name, bytes, crc32: expected }: Entry) {
  let seen = 0
  let checksum = 0
  return {
    /** Called before a piece is used. */
    add(chunk: Buffer) {
      seen += chunk.length
      if (seen > bytes) throw sizeLies(name, 'more bytes than the archive says')
      checksum = crc32(chunk, checksum)
    },
    end() {
      if (seen < bytes) throw sizeLies(name, 'fewer bytes than the archive says')
      if (checksum !== expected) throw sizeLies(name, 'another checksum than the archive says')
    },
  }
}

const inflateAside = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw)
/** Below this, handing the work to another thread costs several times as much as doing it. */
const MAX_INFLATED_HERE_BYTES = 32 * 1024

async function inflate(packed: Buffer, { name, bytes }: Entry): Promise<Buffer> {
  // One byte of room more than should be needed, so that an honest entry is done in one piece.
  const options = { maxOutputLength: Math.max(1, bytes), chunkSize: Math.max(64, bytes + 1) }
  try {
    return bytes > MAX_INFLATED_HERE_BYTES ? await inflateAside(packed, options) : inflateRawSync(packed, options)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw sizeLies(name, 'more bytes than the archive says')
    }
    throw isInflateError(error) ? sizeLies(name, 'data that cannot be inflated') : error
  }
}

const isInflateError = (error: unknown): boolean => String((error as NodeJS.ErrnoException).code).startsWith('Z_')
