/**
 * The lockfile that a package manager wrote for an app that has none. It is kept with the caches of the environment by a build
 * that succeeded, so that the next build gets the same versions for as long as the files that decide them are the same.
 */
import { lchown, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { textIn } from './untrusted-folder.ts'
import type { Workspace } from './workspace.ts'

export type Lockfile = {
  /** A digest of the files and tools that decided its versions. */
  basis: string
  /** Relative to the top of the archive. */
  path: string
  text: string
}

const FILE = 'lockfile.json'
/** A large monorepo has 5 MB. */
const MAX_BYTES = 16 * 1024 * 1024
/** The older format of Bun. */
const BINARY = /\.lockb$/

/** The one that an install has left among its changes. */
export async function writtenLockfile(
  changes: string,
  { basis, folder, names }: { basis: string; folder: string; names: readonly string[] },
): Promise<Lockfile | undefined> {
  for (const name of names.filter((name) => !BINARY.test(name))) {
    const path = join(folder, name)
    const text = await textIn(changes, path, MAX_BYTES)
    if (text) return { basis, path, text }
  }
  return undefined
}

export async function readLockfile(folder: string): Promise<Lockfile | undefined> {
  const text = await textIn(folder, FILE, 2 * MAX_BYTES)
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Lockfile)
  } catch (error) {
    // The machine may have lost power while it was written.
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Without a lockfile, the last one is removed. */
export async function keepLockfile(folder: string, lockfile: Lockfile | undefined) {
  const file = join(folder, FILE)
  if (!lockfile) return rm(file, { force: true })
  await rm(`${file}.new`, { force: true })
  await writeFile(`${file}.new`, JSON.stringify(lockfile), { flag: 'wx', mode: 0o600 })
  await rename(`${file}.new`, file)
}

/** A layer with nothing but the lockfile, which the package manager may change. */
export async function lockfileLayer({ makeFolder, user }: Workspace, { path, text }: Lockfile): Promise<string> {
  const layer = await makeFolder('lockfile')
  if (dirname(path) !== '.') await makeFolder('lockfile', ...dirname(path).split('/'))
  const file = join(layer, path)
  await writeFile(file, text, { flag: 'wx', mode: 0o644 })
  if (user) await lchown(file, user.uid, user.gid)
  return layer
}
