/**
 * The folders of one build. Where folders can be laid over one another, what every step adds is kept apart: what was
 * uploaded, what was installed, what was built. So installed packages are kept once and attached without a copy, however
 * many builds use them. Elsewhere all steps work in one folder, and nothing installed is kept.
 */
import { chmod, chown, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTree } from '../../base/index.ts'
import { type Job, type Mount, type Overlay, removeScratch } from '../../engines/index.ts'

/** What one step sees as its work folder. */
export type View = {
  mount: Mount
  overlays: Overlay[]
  /** What the step changes lies here, and below it the layers, uppermost first. */
  layers: string[]
}

/** Inside, the work folder is here whatever it is called outside: tools write absolute paths into what they make. */
export const WORK = '/app'

type Parts = { folder: string; user: Job['user']; isLayered: boolean }

export function createWorkspace({ folder, user, isLayered }: Parts) {
  const source = join(folder, 'source')

  const untouched = (): View => ({
    mount: { from: source, to: WORK, isWritable: true },
    overlays: [],
    layers: [source],
  })

  /** A folder in the build's own, which belongs to the app's user. */
  async function makeFolder(...names: string[]): Promise<string> {
    let path = folder
    for (const name of names) {
      path = join(path, name)
      await mkdir(path, { mode: 0o755 }).catch(isThere)
      if (user) await chown(path, user.uid, user.gid)
    }
    return path
  }

  /** A folder in the build's own which the app's user can read and not write: no link is there when the service writes. */
  async function makeServiceFolder(name: string): Promise<string> {
    const path = join(folder, name)
    await mkdir(path)
    await chmod(path, 0o755)
    return path
  }

  /** Lays a fresh folder for changes over the layers. */
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

    /** What was uploaded, where no step changes it. */
    untouched,

    /** The work folder of a step that adds to the layers. Without layers, every step works in the source itself. */
    async view(step: 'install' | 'build', layers: readonly string[]): Promise<View> {
      if (!isLayered) return untouched()
      const made = await overlay(step, layers)
      const mount = { from: made.overlay.at, to: WORK, isWritable: true }
      return { mount, overlays: [made.overlay], layers: [made.changes, ...layers] }
    },

    /** Begins with nothing, whatever an attempt before left. */
    async empty() {
      await removeWorkspace(folder)
      await mkdir(folder, { recursive: true, mode: 0o711 })
    },

    /** As after unpacking, for a second attempt. */
    async keepOnlySource() {
      for (const name of await readdir(folder)) if (name !== 'source') await removeStep(join(folder, name))
    },
  }
}

export type Workspace = ReturnType<typeof createWorkspace>

export async function removeWorkspace(folder: string) {
  const names = await readdir(folder).catch((error) => {
    if (error.code !== 'ENOENT') throw error
    return []
  })
  for (const name of names) await removeStep(join(folder, name))
  await removeTree(folder)
}

async function removeStep(folder: string) {
  await removeScratch(join(folder, 'scratch'))
  await removeTree(folder)
}

function isThere(error: NodeJS.ErrnoException) {
  if (error.code !== 'EEXIST') throw error
}
