/**
 * The list of a deployment's files, made once when it is built. The edge serves only what is listed, so no path of a
 * request ever reaches the file system. Text is compressed here, once, and not for every request.
 */
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { SiteRules } from '../rules/rules.ts'
import { MAX_BASE_PATH_LENGTH, readBasePath } from './base-path.ts'
import { describeFiles } from './contents.ts'
import { MANIFEST_NAME, writeManifestFile } from './manifest-file.ts'
import type { StaticManifest } from './types.ts'

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
  const found = await describeFiles(folder, variantsFolder, paths)
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

/**
 * Regular files only: a link may lead anywhere, and other kinds cannot be served. Names that begin with a dot are not
 * for visitors (.git, .env), except .well-known (RFC 8615).
 */
export async function listFiles(top: string): Promise<string[]> {
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
