/**
 * Packs files into one zip. The same files make the same bytes, whenever and wherever they are packed: it contains no time, no
 * owner and no umask of this machine. Another version of zlib may deflate in another way; nothing depends on that.
 */
import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'
import { printableLine } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'
import {
  dataDescriptor,
  directoryRecord,
  type Entry,
  endRecords,
  localHeader,
  MAX_ENTRY_BYTES,
  streamedHeader,
  type WrittenEntry,
} from '../../zip/index.ts'
import type { SourceFile } from './files.ts'

export type SourceArchive = { path: string; bytes: number; digest: string; files: number }

/** Formats that are compressed already: they are stored without compression. */
const PACKED = /\.(?:avif|br|gif|gz|jpe?g|mp[34]|ogg|png|tgz|webm|webp|woff2?|zip)$/i

/** Makes an archive in a temporary folder, and removes it when `use` is over, however that ends. */
export async function withArchive<T>(
  files: readonly SourceFile[],
  use: (archive: SourceArchive) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'headland-'))
  try {
    const path = join(folder, 'app.zip')
    return await use({ path, ...(await pack(files, path, signal)), files: files.length })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function pack(files: readonly SourceFile[], path: string, signal: AbortSignal) {
  await using file = await open(path, 'wx')
  const output = createOutput(file)
  const entries: WrittenEntry[] = []
  for (const [at, each] of files.entries()) {
    if (at % FLUSH_AFTER === 0) {
      await output.flush()
      signal.throwIfAborted()
    }
    const isSmall = each.bytes <= SMALL_BYTES || each.target !== undefined
    entries.push(isSmall ? output.add(packSmall(each)) : await addStreamed(output, each, signal))
  }
  await output.end(entries)
  return { bytes: output.bytes(), digest: output.digest() }
}

/**
 * Up to this size a file is read and packed at once, without giving way to anything else: by promises and streams, which have a
 * cost of their own for each file, a project of many small ones takes three times as long.
 */
const SMALL_BYTES = 128 * 1024
const FLUSH_AFTER = 64
/** Up to this size nothing is gained by deflating. */
const TINY_BYTES = 64

type Packed = Entry & { data: Buffer }

function packSmall(file: SourceFile): Packed {
  const content = contentOf(file)
  const isWorthIt = content.length > TINY_BYTES && isCompressible(file)
  const deflated = isWorthIt ? zlib.deflateRawSync(content, optionsFor(content.length)) : content
  const isDeflated = deflated.length < content.length
  const data = isDeflated ? deflated : content
  const sizes = { crc32: zlib.crc32(content), packedBytes: data.length, bytes: content.length }
  return { path: file.path, mode: modeOf(file), isDeflated, ...sizes, data }
}

/** A window that is larger than the file takes longer to set up, and finds no more. */
function optionsFor(bytes: number): zlib.ZlibOptions {
  const windowBits = Math.max(9, Math.min(15, Math.ceil(Math.log2(bytes + 1))))
  return { windowBits, memLevel: Math.min(8, windowBits - 6), chunkSize: Math.max(1024, Math.min(bytes, SMALL_BYTES)) }
}

async function addStreamed(output: Output, file: SourceFile, signal: AbortSignal): Promise<WrittenEntry> {
  const { path, from, bytes: expected } = file
  const isDeflated = isCompressible(file)
  const offset = output.bytes()
  await output.write(streamedHeader({ path, isDeflated }))
  const start = output.bytes()
  const sizes = { crc32: 0, packedBytes: 0, bytes: 0 }
  async function* read() {
    try {
      for await (const chunk of createReadStream(from, { signal, highWaterMark: SMALL_BYTES })) {
        sizes.crc32 = zlib.crc32(chunk, sizes.crc32)
        sizes.bytes += chunk.length
        yield chunk as Buffer
      }
    } catch (error) {
      signal.throwIfAborted()
      throw unreadable(path, error as Error)
    }
  }
  const write = async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) await output.write(chunk)
  }
  if (isDeflated) await pipeline(read, zlib.createDeflateRaw({ chunkSize: SMALL_BYTES }), write, { signal })
  else await write(read())
  sizes.packedBytes = output.bytes() - start
  if (Math.max(expected, sizes.bytes, sizes.packedBytes) > MAX_ENTRY_BYTES)
    throw new Problem('ARCHIVE_ENTRY_UNSAFE', `${printableLine(path)} is larger than 4 GiB.`)
  await output.write(dataDescriptor(sizes))
  return { path, mode: modeOf(file), isDeflated, ...sizes, offset, isStreamed: true }
}

/** What is written to the archive, in its order, with its digest. */
function createOutput(file: FileHandle) {
  const hash = createHash('sha256')
  let pending: Buffer[] = []
  let bytes = 0
  const put = (piece: Buffer) => {
    hash.update(piece)
    bytes += piece.length
    pending.push(piece)
  }
  async function flush() {
    const pieces = pending
    pending = []
    await file.writeFile(Buffer.concat(pieces))
  }
  return {
    bytes: () => bytes,
    digest: () => `sha256:${hash.digest('hex')}`,
    flush,
    /** Takes an entry, which is written by the next flush. */
    add({ data, ...entry }: Packed): WrittenEntry {
      const offset = bytes
      put(localHeader(entry))
      put(data)
      return { ...entry, offset, isStreamed: false }
    },
    async write(piece: Buffer) {
      put(piece)
      await flush()
    },
    async end(entries: readonly WrittenEntry[]) {
      const offset = bytes
      for (const entry of entries) put(directoryRecord(entry))
      put(endRecords({ entries: entries.length, bytes: bytes - offset, offset }))
      await flush()
    },
  }
}

type Output = ReturnType<typeof createOutput>

function contentOf({ path, from, target }: SourceFile): Buffer {
  if (target !== undefined) return Buffer.from(target)
  try {
    return readFileSync(from)
  } catch (error) {
    throw unreadable(path, error as Error)
  }
}

const isCompressible = ({ path, target }: SourceFile): boolean => target === undefined && !PACKED.test(path)

const modeOf = ({ isExecutable, target }: SourceFile): number =>
  target !== undefined ? 0o120777 : isExecutable ? 0o100755 : 0o100644

const unreadable = (path: string, { message }: Error): Problem =>
  new Problem('ARCHIVE_ENTRY_UNSAFE', `${printableLine(path)} cannot be read: ${message}`)
