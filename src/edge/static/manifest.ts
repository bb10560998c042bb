/**
 * The list of a deployment's files, made once when it is built. The edge serves only what is listed, so no path of a
 * request ever reaches the file system. Text is compressed here, once, and not for every request.
 */
import { createHash } from 'node:crypto'
import { constants, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { brotliCompress, createBrotliCompress, createGzip, gzip, constants as zlib } from 'node:zlib'
import { contentTypeOf } from '../http/content-types.ts'
import type { SiteRules } from '../rules/rules.ts'
import { MAX_BASE_PATH_LENGTH, readBasePath } from './base-path.ts'
import { MANIFEST_NAME, writeManifestFile } from './manifest-file.ts'
import type { StaticFile, StaticManifest } from './types.ts'

/** As many as libuv has threads, which read the files and compress them. */
const AT_A_TIME = 4
const WORTH_COMPRESSING_BYTES = 1024
/** A file up to this size is read into memory once; streams would take three times as long for a small file. */
const WHOLE_FILE_BYTES = 1024 * 1024
/** A compressed copy that saves less is not kept. */
const KEPT_BELOW = 0.9

/** Of all files together: the list is in memory until it is written. */
const MAX_PATH_BYTES = 128 * 1024 * 1024

/** The message is for the tenant, and names the limit that was exceeded. */
export class TooLargeToList extends Error {}

export type ManifestOptions = {
  singlePage: boolean
  /** The base path of the build, as configured. */
  basePath?: string
  rules?: SiteRules | undefined
}

/** Lists the files of a folder, and writes compressed copies into the other one, where the manifest belongs as well. */
export async function createManifest(
  folder: string,
  variantsFolder: string,
  { singlePage, basePath: written = '', rules }: ManifestOptions,
): Promise<StaticManifest> {
  await mkdir(variantsFolder, { recursive: true })
  const paths = (await listFiles(folder)).sort()
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

  if (written.length > MAX_BASE_PATH_LENGTH)
    throw new TooLargeToList(`The base path has more than ${MAX_BASE_PATH_LENGTH} characters.`)
  const basePath = readBasePath(written)
  const files: StaticManifest['files'] = {}
  for (const { address, path } of addressesOf(paths, basePath)) {
    const file = found.get(path)
    if (file) files[address] ??= address === path ? file : { path, ...file }
  }
  const notFound = `${basePath}/404.html`
  return { files, singlePage, notFound: notFound in files ? notFound : null, basePath, ...(rules ? { rules } : {}) }
}

/** Where the files of a folder are served. */
export async function addressesIn(folder: string, basePath: string): Promise<Set<string>> {
  return new Set(addressesOf(await listFiles(folder), readBasePath(basePath)).map(({ address }) => address))
}

/** Writes the manifest into the folder of the compressed copies, and returns its path. It never changes afterwards. */
export async function writeManifest(variantsFolder: string, manifest: StaticManifest): Promise<string> {
  const file = join(variantsFolder, MANIFEST_NAME)
  await writeManifestFile(file, manifest)
  return file
}

/** Crawlers, browsers and certificate authorities request these at the top of the host only. */
const ASKED_AT_THE_TOP = /^\/(?:(?:robots\.txt|favicon\.ico|sitemap\.xml)$|\.well-known\/)/

/** Where each file is served. Of two files at one address the first counts. */
function addressesOf(paths: readonly string[], basePath: string): { address: string; path: string }[] {
  const asTheyAre = paths.map((path) => ({ address: path, path }))
  if (basePath === '') return asTheyAre
  const underBase = paths.map((path) => ({ address: `${basePath}${path}`, path }))
  // Nearly all frameworks leave the prefix to the server. Where the files are in a folder of that name, it is not
  // added.
  const isInFiles = !paths.includes('/index.html') && paths.includes(`${basePath}/index.html`)
  if (!isInFiles) return [...underBase, ...asTheyAre.filter(({ path }) => ASKED_AT_THE_TOP.test(path))]
  // React Router writes the pages into such a folder, and beside it the scripts that they load under the prefix.
  return [...asTheyAre, ...underBase.filter(({ path }) => !path.startsWith(`${basePath}/`))]
}

function* each(paths: readonly string[]) {
  yield* paths
}

/**
 * Regular files only: a link may lead anywhere, and other kinds cannot be served. Names that begin with a dot are not
 * for visitors (.git, .env), except .well-known (RFC 8615).
 */
async function listFiles(top: string): Promise<string[]> {
  const files: string[] = []
  const folders = ['']
  let pathBytes = 0
  // The loop appends to it.
  for (const folder of folders) {
    for (const entry of await readdir(join(top, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`
      pathBytes += path.length
      if (pathBytes > MAX_PATH_BYTES) throw pathsTooLong()
      // A name that is not valid UTF-8 contains this character, and can neither be opened nor requested.
      if (entry.name.includes('\u{fffd}')) continue
      if (entry.name.startsWith('.') && !(path === '/.well-known' && entry.isDirectory())) continue
      if (entry.isDirectory()) folders.push(path)
      else if (entry.isFile() && !RULE_PATHS.has(path)) files.push(path)
    }
  }
  return files
}

/** They tell the edge what to do, and are not for visitors. */
const RULE_PATHS: ReadonlySet<string> = new Set(['/_redirects', '/_headers'])

const pathsTooLong = () =>
  new TooLargeToList(
    `The paths of the output's files are longer than ${MAX_PATH_BYTES} characters together. Give files and folders shorter names.`,
  )

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
