/**
 * The list of a deployment's immutable files, made when it is built. When another deployment is live, it tells which
 * files pages of this one may still ask for.
 */
import { constants } from 'node:fs'
import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeFiles } from '../contents.ts'
import { listFiles } from '../manifest.ts'
import type { StaticFile, StaticManifest } from '../types.ts'
import { immutableNameOf } from './immutable-names.ts'

export const LIST_NAME = 'immutable.json'

/** Files that are listed. A page of a deployment that has more may miss some of them later. */
const MAX_LISTED = 20_000
/** A list that is longer was not written by this file. */
const MAX_LIST_BYTES = 32 * 1024 * 1024

/** By the name that `immutableNameOf` gives. Paths are those in the folder of the output. */
export type ImmutableList = ReadonlyMap<string, StaticFile & { path: string }>

/** A folder of files that a server answers with, as a path in the output, and the address of the folder. */
export type AssetFolder = { folder: string; address: string }

/** Of a static output, whose manifest has everything. */
export function immutableFilesOf({ files }: StaticManifest): ImmutableList {
  const listed = createListing()
  for (const [address, file] of Object.entries(files)) listed.add(address, { ...file, path: file.path ?? address })
  return listed.all()
}

/** Of a server. Compressed copies come into the other folder. */
export async function listAssets(
  outputFolder: string,
  variantsFolder: string,
  folders: readonly AssetFolder[],
): Promise<ImmutableList> {
  await mkdir(variantsFolder, { recursive: true })
  const addresses = new Map<string, string>()
  for (const { folder, address } of folders) {
    for (const path of (await listFiles(join(outputFolder, folder))).sort()) {
      const isKept = addresses.size < MAX_LISTED && immutableNameOf(`${address}${path}`) !== undefined
      if (isKept) addresses.set(`/${folder}${path}`, `${address}${path}`)
    }
  }
  const found = await describeFiles(outputFolder, variantsFolder, [...addresses.keys()])
  const listed = createListing()
  for (const [path, address] of addresses) {
    const file = found.get(path)
    if (file) listed.add(address, { ...file, path })
  }
  return listed.all()
}

/** Two files of one name that differ are both left out: which of them a page means is not known. */
function createListing() {
  const files = new Map<string, StaticFile & { path: string }>()
  const ambiguous = new Set<string>()
  return {
    add(address: string, file: StaticFile & { path: string }) {
      const name = immutableNameOf(address)
      if (name === undefined || files.size >= MAX_LISTED) return
      const other = files.get(name)
      if (other && other.digest !== file.digest) ambiguous.add(name)
      else files.set(name, file)
    },
    all(): ImmutableList {
      for (const name of ambiguous) files.delete(name)
      return files
    },
  }
}

export async function writeImmutableList(variantsFolder: string, list: ImmutableList): Promise<void> {
  await writeFile(join(variantsFolder, LIST_NAME), JSON.stringify([...list]), { mode: 0o644 })
}

/**
 * Undefined if there is none. The list may come from a backup, so that nothing in it is used unchecked: it names the
 * files that are served.
 */
export async function readImmutableList(path: string): Promise<ImmutableList | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(unlessAbsent)
  if (!handle) return undefined
  try {
    const { size } = await handle.stat()
    if (size > MAX_LIST_BYTES) throw new Error(`${path} has ${size} bytes`)
    const listed: unknown = JSON.parse(await handle.readFile('utf8'))
    if (!Array.isArray(listed)) throw new Error(`${path} is no list`)
    return new Map(listed.filter(isEntry))
  } finally {
    await handle.close()
  }
}

function unlessAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function isEntry(entry: unknown): entry is [string, StaticFile & { path: string }] {
  if (!Array.isArray(entry) || typeof entry[0] !== 'string' || immutableNameOf(entry[0]) !== entry[0]) return false
  const { path, digest, size, br, gzip, brSize, gzipSize } = (entry[1] ?? {}) as Record<string, unknown>
  return (
    typeof path === 'string' &&
    !path.includes('\0') &&
    !path.split('/').includes('..') &&
    typeof digest === 'string' &&
    /^[0-9a-f]{64}$/.test(digest) &&
    isSize(size) &&
    isVariant(br, brSize, `${digest}.br`) &&
    isVariant(gzip, gzipSize, `${digest}.gz`)
  )
}

const isSize = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const isVariant = (name: unknown, size: unknown, expected: string): boolean =>
  name === undefined ? size === undefined : name === expected && isSize(size)
