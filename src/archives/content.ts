/** The bytes of one entry: exactly as many as the archive declares, with the declared checksum. */
import type { FileHandle } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { crc32, createInflateRaw, inflateRaw, inflateRawSync, type ZlibOptions } from 'node:zlib'
import type { ZipEntry } from './directory.ts'
import { notZip, sizeLies } from './refusals.ts'
import { readFully } from './window.ts'

const CHUNK_BYTES = 128 * 1024
const HEAD_CHUNK_BYTES = 16 * 1024

/** All at once: for an entry whose declared size is small. */
export async function readContent(file: FileHandle, entry: ZipEntry): Promise<Buffer> {
  const packed = await readFully(file, Buffer.allocUnsafe(entry.compressedBytes), entry.dataStart)
  if (!packed) throw notZip('it is shorter than it was')
  const content = isPacked(entry) ? await inflate(packed, entry) : packed
  const seen = createCount(entry)
  seen.add(content)
  seen.end()
  return content
}

/** The first bytes of an entry that may be large. What comes after them is neither inflated nor checked. */
export async function readHead(file: FileHandle, entry: ZipEntry, bytes: number): Promise<Buffer> {
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
      // The pipeline fails when `take` returns early.
      if (seen >= bytes) return
      throw isInflateError(error) ? sizeLies(entry.name, 'data that cannot be inflated') : error
    })
  }
  return Buffer.concat(pieces).subarray(0, bytes)
}

/** In chunks, for an entry of any size. */
export async function copyContent(file: FileHandle, entry: ZipEntry, target: FileHandle, signal?: AbortSignal) {
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

async function* packedContent(file: FileHandle, entry: ZipEntry, chunkBytes: number) {
  for (let at = 0; at < entry.compressedBytes; at += chunkBytes) {
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, entry.compressedBytes - at))
    const chunk = await readFully(file, buffer, entry.dataStart + at)
    if (!chunk) throw notZip('it is shorter than it was')
    yield chunk
  }
}

/** Some programs mark an empty file as deflated and write no data for it. */
const isPacked = ({ isDeflated, compressedBytes }: ZipEntry): boolean => isDeflated && compressedBytes > 0

function createCount({ name, bytes, crc32: expected }: ZipEntry) {
  let seen = 0
  let checksum = 0
  return {
    /** To be called before a chunk is used. */
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

const inflateInThread = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw)
/** Below this size, handing the work to another thread costs several times as much as the work itself. */
const MAX_SYNC_BYTES = 32 * 1024

async function inflate(packed: Buffer, { name, bytes }: ZipEntry): Promise<Buffer> {
  // One byte more than declared, so that a correct entry is inflated in one chunk.
  const options = { maxOutputLength: Math.max(1, bytes), chunkSize: Math.max(64, bytes + 1) }
  try {
    return bytes > MAX_SYNC_BYTES ? await inflateInThread(packed, options) : inflateRawSync(packed, options)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw sizeLies(name, 'more bytes than the archive says')
    }
    throw isInflateError(error) ? sizeLies(name, 'data that cannot be inflated') : error
  }
}

const isInflateError = (error: unknown): boolean => String((error as NodeJS.ErrnoException).code).startsWith('Z_')
