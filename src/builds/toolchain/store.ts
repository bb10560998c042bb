/**
 * The fetched tools, each in an immutable folder: `pnpm@10.34.9`. A name that exists is complete. The mtime of the folder is
 * the time when the tool was last used.
 */
import { execFile } from 'node:child_process'
import { chmod, lstat, mkdir, readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import semver from 'semver'
import { absent, type Clock } from '../../base/index.ts'
import { draftOf, isDraft, putInPlace, removeWhole, sweepDrafts } from './drafts.ts'
import type { Tool } from './exact.ts'
import { describe, isProgram, placeNativePnpm } from './package.ts'
import type { Registry } from './registry.ts'
import { createShared } from './shared.ts'

export type Kept = { package: string; version: string; bytes: number; usedAt: number }

type Parts = { folder: string; arch: string; registry: Registry; clock: Clock }

const FETCH_MS = 5 * 60_000

export function createToolStore({ folder, arch, registry, clock }: Parts) {
  const fetches = createShared<void>()
  /** Versions may come from stored records: only exact versions become names of folders. */
  function nameOf(tool: Pick<Tool, 'package' | 'version'>): string {
    if (semver.valid(tool.version) !== tool.version) throw new Error(`not a version: ${JSON.stringify(tool.version)}`)
    return `${tool.package.replace('/', '+')}@${tool.version}`
  }
  const placeOf = (tool: Pick<Tool, 'package' | 'version'>) => join(folder, nameOf(tool))

  const touch = (path: string) => utimes(path, new Date(clock.now()), new Date(clock.now()))

  /** Records the use, so that the tool is not removed; false when it is not here. */
  async function isHere(tool: Tool): Promise<boolean> {
    return touch(placeOf(tool)).then(
      () => true,
      (error) => {
        if (error.code === 'ENOENT') return false
        throw error
      },
    )
  }

  async function fetch(tool: Tool, signal: AbortSignal) {
    // Another fetch may have ended since the last look.
    if (await isHere(tool)) return
    await putInPlace(placeOf(tool), async (draft) => {
      await registry.fetch(tool.package, tool.version, draft, AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]))
      if (tool.name === 'pnpm') await placeNativePnpm(join(draft, 'node_modules'), arch)
      await check(tool, draft)
      await makeReadable(draft)
      await touch(draft)
      // After a power failure no name should exist without its files. Not every `sync` has this option.
      await promisify(execFile)('sync', ['-f', draft]).catch(() => undefined)
      signal.throwIfAborted()
    })
  }

  async function entries(): Promise<{ name: string; package: string; version: string }[]> {
    const names = (await readdir(folder)).filter((name) => !isDraft(name))
    return names.flatMap((name) => {
      const [, escaped, version] = /^(@?[^@]+)@([^@]+)$/.exec(name) ?? []
      if (escaped === undefined || version === undefined || semver.valid(version) !== version) return []
      return [{ name, package: escaped.replace('+', '/'), version }]
    })
  }

  return {
    /** The folder of the tool's package. */
    rootOf: (tool: Tool): string => join(placeOf(tool), 'node_modules', tool.package),
    /** The folder with the package and its dependencies. */
    placeOf,
    isHere,

    /** Fetches it if it is not here; once for all concurrent callers. */
    async take(tool: Tool, signal: AbortSignal, onFetch: () => void): Promise<void> {
      if (await isHere(tool)) return
      onFetch()
      await fetches.join(nameOf(tool), signal, (ended) => fetch(tool, ended))
    },

    /** Versions of a package that need not be fetched. */
    async versions(name: string): Promise<string[]> {
      return (await entries()).filter((entry) => entry.package === name).map(({ version }) => version)
    },

    async list(): Promise<Kept[]> {
      const kept: Kept[] = []
      for (const entry of await entries()) {
        const found = await lstat(join(folder, entry.name)).catch(absent)
        if (!found) continue
        const bytes = await bytesIn(join(folder, entry.name))
        kept.push({ package: entry.package, version: entry.version, bytes, usedAt: found.mtimeMs })
      }
      return kept
    },

    /** Removes it unless it was used since it was listed. */
    async remove(kept: Kept): Promise<boolean> {
      const found = await lstat(placeOf(kept)).catch(absent)
      if (found?.mtimeMs !== kept.usedAt) return false
      await removeWhole(placeOf(kept))
      return true
    },

    /** Removes drafts of processes that have ended. */
    sweep: (): Promise<void> => sweepDrafts(folder),
  }
}

export type ToolStore = ReturnType<typeof createToolStore>

export async function openFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 })
  await chmod(folder, 0o755)
}

export const scratchIn = (folder: string) => (): string => draftOf(join(folder, 'npm'))

/** Checks a draft: it has the requested version, and this machine can run its commands. Adapters are only imported. */
async function check(tool: Tool, draft: string) {
  const root = join(draft, 'node_modules', tool.package)
  const { version, commands } = await describe(root, tool.name)
  if (version !== tool.version) throw new Error(`${tool.package} ${tool.version} was asked for, and ${version} came.`)
  if (tool.name === 'adapter') return
  const files = Object.values(commands)
  if (files.length === 0) throw new Error(`${tool.package} ${version} brings no command.`)
  for (const file of files) {
    if (!(await isProgram(join(root, file))))
      throw new Error(`${file} of ${tool.package} ${version} cannot be run here.`)
    await chmod(join(root, file), 0o755)
  }
}

/** Readable by all tenants and writable by none, whatever the umask of the service is. */
async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await makeReadable(path)
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o111 ? 0o755 : 0o644)
  }
}

/** Files with several hard links count once. */
async function bytesIn(folder: string, seen = new Set<number>()): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) bytes += await bytesIn(path, seen)
    else if (entry.isFile()) {
      const { size, ino } = await lstat(path)
      if (!seen.has(ino)) bytes += size
      seen.add(ino)
    }
  }
  return bytes
}
