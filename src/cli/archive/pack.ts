/**
 * Packs files into one zip. The same files make the same bytes, whenever and wherever they are packed: it contains no time, no
 * owner and no umask of this machine. Another version of zlib may deflate in another way; nothing depends on that.
 */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ZipFile } from 'yazl'
import { printableLine } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'
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
    const digest = await pack(files, path, signal)
    return await use({ path, bytes: (await stat(path)).size, digest, files: files.length })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function pack(files: readonly SourceFile[], path: string, signal: AbortSignal): Promise<string> {
  const zip = new ZipFile()
  const failed = new AbortController()
  const fail = (error: unknown) => failed.abort(error)
  zip.on('error', fail)
  const until = AbortSignal.any([signal, failed.signal])
  const hash = createHash('sha256')
  const hashed = new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  const written = pipeline(zip.outputStream, hashed, createWriteStream(path), { signal: until })
  const added = addAll(zip, files, until, fail).catch(fail)
  try {
    await Promise.all([written, added])
  } catch (error) {
    throw until.aborted ? until.reason : error
  }
  return `sha256:${hash.digest('hex')}`
}

/** Up to this size a file is read into memory, which is several times as fast as a stream; and the limit of all together. */
const SMALL_BYTES = 128 * 1024
const MAX_HELD_BYTES = 64 * 1024 * 1024
const READ_AT_ONCE = 32

async function addAll(
  zip: ZipFile,
  files: readonly SourceFile[],
  signal: AbortSignal,
  onError: (error: unknown) => void,
) {
  let heldBytes = 0
  const isHeld = ({ bytes, target }: SourceFile): boolean => {
    if (bytes > SMALL_BYTES || heldBytes + bytes > MAX_HELD_BYTES) return target !== undefined
    heldBytes += bytes
    return true
  }
  for (let at = 0; at < files.length; at += READ_AT_ONCE) {
    signal.throwIfAborted()
    const some = files.slice(at, at + READ_AT_ONCE).map((file) => ({ file, isRead: isHeld(file) }))
    const contents = await Promise.all(some.map(({ file, isRead }) => (isRead ? contentOf(file) : undefined)))
    for (const [index, { file }] of some.entries()) add(zip, file, contents[index], onError)
  }
  zip.end()
}

async function contentOf({ path, from, target }: SourceFile): Promise<Buffer> {
  if (target !== undefined) return Buffer.from(target)
  return readFile(from).catch((error) => {
    throw unreadable(path, error)
  })
}

/** Zip stores local times without a zone: this local time gives the same bytes in every zone. */
const TIME = new Date(1980, 0, 1)

function add(zip: ZipFile, file: SourceFile, content: Buffer | undefined, onError: (error: unknown) => void) {
  const { path, from, isExecutable, target } = file
  const mode = target !== undefined ? 0o120777 : isExecutable ? 0o100755 : 0o100644
  const compress = target === undefined && !PACKED.test(path)
  const options = { mtime: TIME, forceDosTimestamp: true, mode, compress }
  if (content) {
    zip.addBuffer(content, path, options)
    return
  }
  // Opened when its turn comes: a project may have more files than a process may have open.
  zip.addReadStreamLazy(path, options, (take) => {
    const stream = createReadStream(from)
    stream.once('error', (error) => onError(unreadable(path, error)))
    take(null, stream)
  })
}

const unreadable = (path: string, { message }: Error): Problem =>
  new Problem('ARCHIVE_ENTRY_UNSAFE', `${printableLine(path)} cannot be read: ${message}`)
