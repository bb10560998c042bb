/**
 * Copies what an app has written while it ran to a deployment of the same build that replaces it, so that regenerated pages and
 * data are kept. The app that is replaced still runs and writes, so the copy is repeated until a pass finds no change.
 *
 * The copy is made in a sandbox, as the app's own user: links that the app made lead to nothing but its own files. A folder
 * that is complete is renamed into its place.
 */
import { randomUUID } from 'node:crypto'
import { chown, lstat, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, removeTree } from '../base/index.ts'
import { type Engine, type Mount, runToEnd } from '../engines/index.ts'
import { type InstanceSpec, makeParents, outermost } from './instance.ts'

/** What the copy needs to know of the deployment that gets it. */
export type Successor = Pick<InstanceSpec, 'runFolder' | 'writable' | 'user' | 'limits'>

const DEADLINE_MS = 60_000
/** An app that has changed something during every pass is taken for one that always does. */
const MAX_PASSES = 5

/** False where it could not be copied: then the deployment begins as the build left it. */
export async function carryOn(engine: Engine, from: string, spec: Successor, signal: AbortSignal): Promise<boolean> {
  const folders = await foldersIn(from, spec)
  if (folders.length === 0) return true
  const drafts = await makeDrafts(spec, folders)
  try {
    const over = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)])
    if (!(await copyUntilUnchanged(engine, spec, drafts, over))) return false
    for (const { draft, to } of drafts) {
      const old = `${to}.${randomUUID()}.old`
      if (await isFolder(to)) await rename(to, old)
      await rename(draft, to)
      await removeTree(old)
    }
    return true
  } finally {
    for (const { draft } of drafts) await removeTree(draft)
    signal.throwIfAborted()
  }
}

type Draft = { from: string; draft: string; to: string }

async function foldersIn(runFolder: string, { writable }: Successor): Promise<{ path: string; from: string }[]> {
  const all = outermost(writable).map((path) => ({ path, from: join(runFolder, 'own', path) }))
  const found = await Promise.all(all.map(({ from }) => isFolder(from)))
  return all.filter((_, index) => found[index])
}

async function makeDrafts(
  { runFolder, user }: Successor,
  folders: readonly { path: string; from: string }[],
): Promise<Draft[]> {
  const drafts: Draft[] = []
  const own = join(runFolder, 'own')
  for (const { path, from } of folders) {
    const to = join(own, path)
    const draft = `${to}.carried`
    await makeParents(own, path)
    await removeTree(draft)
    await mkdir(draft, { mode: 0o755 })
    if (user) await chown(draft, user.uid, user.gid)
    drafts.push({ from, draft, to })
  }
  return drafts
}

/** Modification times are kept: they say when a page was made. */
async function copyUntilUnchanged(
  engine: Engine,
  { user, limits }: Successor,
  drafts: readonly Draft[],
  signal: AbortSignal,
): Promise<boolean> {
  const mounts = drafts.flatMap(({ from, draft }, index): Mount[] => [
    { from, to: `/from/${index}`, isWritable: false },
    { from: draft, to: `/to/${index}`, isWritable: true },
  ])
  const sources = drafts.map((_, index) => `/from/${index}`)
  const argv = ['cp', '--archive', '--update', '--verbose', '--reflink=auto', '--target-directory=/to', ...sources]
  const job = { name: 'carry', argv, cwd: '/', environment: { PATH: '/usr/bin:/bin' }, mounts, user, limits }
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    let isChanged = false
    const note = (stream: 'stdout' | 'stderr') => {
      if (stream === 'stdout') isChanged = true
    }
    const { code } = await runToEnd(engine, job, note, signal)
    if (code !== 0) return false
    if (!isChanged) return true
  }
  return false
}

const isFolder = async (path: string): Promise<boolean> => (await lstat(path).catch(absent))?.isDirectory() ?? false
