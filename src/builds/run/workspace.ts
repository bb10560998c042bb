/**
 * The folders of one build. Where overlays are possible, the changes of every step are in a layer of their own: the upload,
 * the installed packages, the build. So packages are stored once and used without a copy by any number of builds. Without
 * overlays all steps work in one folder, and installed packages are not kept.
 */
import { chmod, chown, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, removeTree } from '../../base/index.ts'
import { type Job, type Mount, type Overlay, removeScratch } from '../../engines/index.ts'

/** The work folder as one step sees it. */
export type View = {
  mount: Mount
  overlays: Overlay[]
  /** The folder with the changes of the step, then the layers below it, uppermost first. */
  layers: string[]
}

/** The path of the work folder inside the sandbox is always the same, since tools write absolute paths into their output. */
export const WORK = '/app'

/** The folder with content that an earlier build has recorded. */
export const EARLIER_CONTENT = 'content-earlier'
const KEPT: ReadonlySet<string> = new Set(['source', EARLIER_CONTENT])

type Parts = { folder: string; user: Job['user']; isLayered: boolean }

export function createWorkspace({ folder, user, isLayered }: Parts) {
  const source = join(folder, 'source')

  const untouched = (): View => ({
    mount: { from: source, to: WORK, isWritable: true },
    overlays: [],
    layers: [source],
  })

  /** Makes a folder in the workspace that belongs to the app's user. */
  async function makeFolder(...names: string[]): Promise<string> {
    let path = folder
    for (const name of names) {
      path = join(path, name)
      await mkdir(path, { mode: 0o755 }).catch(isThere)
      if (user) await chown(path, user.uid, user.gid)
    }
    return path
  }

  /** Makes a folder in the workspace that the app's user can only read, so that the service never writes through a link. */
  async function makeServiceFolder(name: string): Promise<string> {
    const path = join(folder, name)
    await mkdir(path)
    await chmod(path, 0o755)
    return path
  }

  /** An overlay with a new folder for changes above the layers. */
  async function overlay(name: string, layers: readonly string[]): Promise<{ overlay: Overlay; changes: string }> {
    const [at, changes, scratch] = [
      await makeFolder(name, 'at'),
      await makeFolder(name, 'changes'),
      await makeFolder(name, 'scratch'),
    ]
    return { overlay: { at, layers, changes: { folder: changes, scratch } }, changes }
  }

  return {
    isLayered,
    user,
    /** The unpacked archive. */
    source,
    makeFolder,
    makeServiceFolder,
    overlay,

    /** The upload itself, where no step changes it. */
    untouched,

    /** The work folder of a step that adds a layer. Without overlays, every step works in the source itself. */
    async view(step: 'install' | 'build', layers: readonly string[]): Promise<View> {
      if (!isLayered) return untouched()
      const made = await overlay(step, layers)
      const mount = { from: made.overlay.at, to: WORK, isWritable: true }
      return { mount, overlays: [made.overlay], layers: [made.changes, ...layers] }
    },

    /** Removes everything that an earlier attempt left. */
    async empty() {
      await removeWorkspace(folder)
      await mkdir(folder, { recursive: true, mode: 0o711 })
    },

    /** As after unpacking, for a second attempt; with the recorded content that it may need. */
    async keepOnlySource() {
      for (const name of await readdir(folder)) if (!KEPT.has(name)) await removeStep(join(folder, name))
    },
  }
}

export type Workspace = ReturnType<typeof createWorkspace>

export async function removeWorkspace(folder: string) {
  for (const name of (await readdir(folder).catch(absent)) ?? []) await removeStep(join(folder, name))
  await removeTree(folder)
}

async function removeStep(folder: string) {
  await removeScratch(join(folder, 'scratch'))
  await removeTree(folder)
}

function isThere(error: NodeJS.ErrnoException) {
  if (error.code !== 'EEXIST') throw error
}
