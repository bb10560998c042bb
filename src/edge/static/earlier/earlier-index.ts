/**
 * The index of the files that earlier deployments of an environment left: a manifest by which the edge finds them, and
 * beside it the files themselves, each under the digest of its content. Files are links to those of outputs, so they
 * take space only when their output is removed.
 *
 * Names that the live deployment has are left out, and of the others the newest deployment's file counts. So the edge
 * needs one look-up, and never finds a file that the live deployment has too.
 */
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, lstat, mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeManifestFile } from '../manifest-file.ts'
import type { StaticFile } from '../types.ts'
import { type ImmutableList, readImmutableList } from './immutable-list.ts'

export type EarlierIndex = {
  /** Where the index and its files are. */
  folder: string
  /** The file name of the index. */
  name: string
  /** The list of the live deployment; null where it has none. */
  live: string | null
  /** Those of earlier deployments, the newest first. An output that is removed has its files in the folder already. */
  earlier: readonly { list: string; output: { files: string; edge: string } | null }[]
}

export const EARLIER_LIMITS = { files: 50_000, bytes: 1024 ** 3 }

const AT_A_TIME = 16

type Source = EarlierIndex['earlier'][number]
type Found = { file: StaticFile & { path: string }; source: Source }

/** Resolves to the number of files in the index. Without any, none is written. */
export async function writeEarlierIndex(index: EarlierIndex, limits = EARLIER_LIMITS): Promise<number> {
  const { folder, name } = index
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const found = await merge(index, limits)
  const there = new Set(await readdir(folder))
  const isSafe = createSafeFolders()
  const files: Record<string, StaticFile> = {}
  const used = new Set<string>()
  const rest = found.entries()

  async function work() {
    for (const [address, { file, source }] of rest) {
      const { path, br, gzip, ...more } = file
      const origin = source.output
      const isKept = (kept: string, from: string | undefined) => there.has(kept) || keepFile(join(folder, kept), from)
      const isWhole = await isKept(
        file.digest,
        origin && (await isSafe(origin.files, path)) ? join(origin.files, path) : undefined,
      )
      if (!isWhole) continue
      used.add(file.digest)
      files[address] = { size: more.size, digest: file.digest, path: file.digest }
      for (const [encoding, variant, size] of [
        ['br', br, more.brSize],
        ['gzip', gzip, more.gzipSize],
      ] as const) {
        if (variant === undefined || !(await isKept(variant, origin ? join(origin.edge, variant) : undefined))) continue
        used.add(variant)
        Object.assign(files[address], { [encoding]: variant, [`${encoding}Size`]: size })
      }
    }
  }
  for (const end of await Promise.allSettled(Array.from({ length: AT_A_TIME }, work))) {
    if (end.status === 'rejected') throw end.reason
  }
  if (used.size === 0) return 0
  // First: where the index is, it is known which files it needs.
  await writeWhole(join(folder, filesNameOf(name)), JSON.stringify([...used]))
  await writeManifestFile(join(folder, name), { files, singlePage: false, notFound: null, basePath: '' })
  return Object.keys(files).length
}

/** The name of the list of files that an index needs. */
export const filesNameOf = (name: string): string => `${name}.files`

/** What exceeds a limit is left out, the oldest first. */
async function merge({ live, earlier }: EarlierIndex, limits: typeof EARLIER_LIMITS): Promise<Map<string, Found>> {
  const own: ImmutableList = (live === null ? undefined : await readImmutableList(live)) ?? new Map()
  const found = new Map<string, Found>()
  const digests = new Set<string>()
  let bytes = 0
  for (const source of earlier) {
    for (const [name, file] of (await readImmutableList(source.list)) ?? []) {
      if (own.has(name) || found.has(name)) continue
      bytes += digests.has(file.digest) ? 0 : file.size
      if (bytes > limits.bytes || found.size >= limits.files) return found
      digests.add(file.digest)
      found.set(name, { file, source })
    }
  }
  return found
}

/** Whether no folder on the path of a file is a link. Outputs may come from a backup, and no link is followed. */
function createSafeFolders() {
  const known = new Map<string, Promise<boolean>>()
  function isSafe(top: string, path: string): Promise<boolean> {
    const folder = dirname(join(top, path))
    const found = known.get(folder) ?? look(top, folder)
    known.set(folder, found)
    return found
  }
  async function look(top: string, folder: string): Promise<boolean> {
    if (folder !== top && !folder.startsWith(`${top}/`)) return false
    if (!(await lstat(folder).catch(unlessGone))?.isDirectory()) return false
    return folder === top || isSafe(top, folder.slice(top.length))
  }
  return isSafe
}

/** False if there is nothing to keep. */
async function keepFile(to: string, from: string | undefined): Promise<boolean> {
  if (from === undefined || !(await lstat(from).catch(unlessGone))?.isFile()) return false
  try {
    await link(from, to)
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return true
    if (code === 'ENOENT') return false
    if (!CANNOT_LINK.includes(code)) throw error
  }
  const draft = `${to}.${randomUUID()}.new`
  await copyFile(from, draft, constants.COPYFILE_FICLONE)
  await rename(draft, to)
  return true
}

/** Another file system, one that has no links, or a file with as many as it can have. */
const CANNOT_LINK = ['EXDEV', 'EMLINK', 'EPERM', 'ENOTSUP', 'ENOSYS']

async function writeWhole(path: string, text: string) {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}
