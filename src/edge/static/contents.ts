/** Reads the files of an output, and makes their compressed copies. */
import { createHash } from 'node:crypto'
import { constants, createWriteStream } from 'node:fs'
import { open, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { brotliCompress, createBrotliCompress, createGzip, gzip, constants as zlib } from 'node:zlib'
import { contentTypeOf } from '../http/content-types.ts'
import type { StaticFile } from './types.ts'

/** As many as libuv has threads, which read the files and compress them. */
const AT_A_TIME = 4
const WORTH_COMPRESSING_BYTES = 1024
/** A file up to this size is read into memory once; streams would take three times as long for a small file. */
const WHOLE_FILE_BYTES = 1024 * 1024
/** A compressed copy that saves less is not kept. */
const KEPT_BELOW = 0.9

/** What a manifest says of each of these files, by its path in the folder. Compressed copies come into the other folder. */
export async function describeFiles(
  folder: string,
  variantsFolder: string,
  paths: readonly string[],
): Promise<Map<string, StaticFile>> {
  const found = new Map<string, StaticFile>()
  const variants = createVariants(variantsFolder)
  // A generator, so that the failure of one worker ends all of them: an exception that leaves a loop closes it.
  const rest = each(paths)

  async function work() {
    for (const path of rest) {
      const content = await readContent(join(folder, path))
      if (!content) continue
      const { size, digest } = content
      const isWorthIt = size > WORTH_COMPRESSING_BYTES && contentTypeOf(path).isCompressible
      found.set(path, { size, digest, ...(isWorthIt ? await variants.of(content) : {}) })
    }
  }
  // All workers have ended when this returns or throws, so nothing writes into a folder that the caller removes.
  for (const end of await Promise.allSettled(Array.from({ length: AT_A_TIME }, work))) {
    if (end.status === 'rejected') throw end.reason
  }
  return found
}

function* each(paths: readonly string[]) {
  yield* paths
}

type Content = {
  path: string
  size: number
  digest: string
  /** Undefined when it is too large for memory. */
  bytes?: Buffer
}

async function readContent(path: string): Promise<Content | undefined> {
  // Does not follow a link that replaced the file since it was listed.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) return undefined
    const hash = createHash('sha256')
    if (stats.size <= WHOLE_FILE_BYTES) {
      const bytes = await handle.readFile()
      return { path, size: bytes.length, digest: hash.update(bytes).digest('hex'), bytes }
    }
    let size = 0
    for await (const chunk of handle.createReadStream({ autoClose: false })) {
      hash.update(chunk)
      size += chunk.length
    }
    return { path, size, digest: hash.digest('hex') }
  } finally {
    await handle.close()
  }
}

type Variants = Pick<StaticFile, 'br' | 'gzip' | 'brSize' | 'gzipSize'>

/** Compressed copies are named by the digest of the original, so that equal files share them. */
function createVariants(folder: string) {
  const made = new Map<string, Promise<Variants>>()

  async function make(content: Content): Promise<Variants> {
    const [br, gzip] = [`${content.digest}.br`, `${content.digest}.gz`]
    const brSize = await compress(content, join(folder, br), BROTLI)
    // A file that brotli cannot compress is not compressible by gzip either.
    if (brSize === undefined) return {}
    const gzipSize = await compress(content, join(folder, gzip), GZIP)
    return { br, brSize, ...(gzipSize === undefined ? {} : { gzip, gzipSize }) }
  }

  return {
    of(content: Content): Promise<Variants> {
      const known = made.get(content.digest) ?? make(content)
      made.set(content.digest, known)
      return known
    },
  }
}

type Method = { atOnce(bytes: Buffer): Promise<Buffer>; inSteps(): Transform }

// Quality 5 takes a fortieth of the time of 11, and its result is about a tenth larger.
const BROTLI_OPTIONS = { params: { [zlib.BROTLI_PARAM_QUALITY]: 5 } }
const BROTLI: Method = {
  atOnce: (bytes) => promisify(brotliCompress)(bytes, BROTLI_OPTIONS),
  inSteps: () => createBrotliCompress(BROTLI_OPTIONS),
}
const GZIP_OPTIONS = { level: 6 }
const GZIP: Method = {
  atOnce: (bytes) => promisify(gzip)(bytes, GZIP_OPTIONS),
  inSteps: () => createGzip(GZIP_OPTIONS),
}

/** The size of the compressed file; undefined, and no file, when too little was saved. */
async function compress({ path, size, bytes }: Content, to: string, method: Method): Promise<number | undefined> {
  const max = size * KEPT_BELOW
  if (bytes) {
    const compressed = await method.atOnce(bytes)
    if (compressed.length > max) return undefined
    await writeFile(to, compressed)
    return compressed.length
  }
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  await pipeline(handle.createReadStream(), method.inSteps(), createWriteStream(to))
  const written = await stat(to)
  if (written.size <= max) return written.size
  await rm(to)
  return undefined
}
