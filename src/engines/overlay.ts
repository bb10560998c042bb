/**
 * Layers without a copy: the kernel's overlay file system, mounted in a namespace that only the job sees. It is gone with
 * the job's last process, however that ends, so there is never a mount to clean up.
 */
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { removeTree } from '../base/index.ts'
import type { Overlay } from './engine.ts'

const UNSHARE = '/usr/bin/unshare'

/** Mounts each pair of options and place, and turns into the command after the dashes. Nothing is ever written into it. */
const MOUNT_THEN_RUN =
  'while [ "$1" != -- ]; do mount -t overlay overlay -o "$1" "$2" || exit 125; shift 2; done; shift; exec "$@"'

/** The command that makes the overlays and then becomes the given one. */
export function withOverlays(overlays: readonly Overlay[], command: readonly string[], isRoot: boolean): string[] {
  // Without root it takes a user namespace to mount at all. Bubblewrap makes another one inside of it.
  const user = isRoot ? [] : ['--user', '--map-root-user']
  const mounts = overlays.flatMap((overlay) => [optionsOf(overlay, isRoot), overlay.at])
  return [UNSHARE, ...user, '--mount', '--', '/bin/sh', '-c', MOUNT_THEN_RUN, 'sh', ...mounts, '--', ...command]
}

/** What keeps overlays from working in a folder of this machine; nothing if they do. Tried and not guessed. */
export async function overlayProblem(folder: string, isRoot: boolean): Promise<string | undefined> {
  if (/[\\:,"\s]/.test(folder)) return `the path ${folder} has a character that mount options cannot hold`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const trial = await mkdtemp(join(folder, 'overlay-'))
  try {
    const [at, layer, changes, scratch] = ['at', 'layer', 'changes', 'scratch'].map((name) => join(trial, name)) as [
      string,
      string,
      string,
      string,
    ]
    for (const part of [at, layer, changes, scratch]) await mkdir(part)
    await writeFile(join(layer, 'file'), 'below')
    const overlay = { at, layers: [layer], changes: { folder: changes, scratch } }
    const [file = '', ...args] = withOverlays(
      [overlay],
      ['/bin/sh', '-c', 'echo above > "$0"', join(at, 'file')],
      isRoot,
    )
    await promisify(execFile)(file, args, { timeout: TRIAL_MS, env: {} })
    const [above, below] = [await readFile(join(changes, 'file'), 'utf8'), await readFile(join(layer, 'file'), 'utf8')]
    return above === 'above\n' && below === 'below' ? undefined : 'a change went to the wrong layer'
  } catch (error) {
    const { stderr, message, code } = error as NodeJS.ErrnoException & { stderr?: string }
    // On a full disk nothing can be tried, and it will not always be full.
    if (code === 'ENOSPC' || /No space left/.test(stderr ?? '')) return undefined
    return (stderr || message).trim()
  } finally {
    await removeScratch(join(trial, 'scratch'))
    await removeTree(trial)
  }
}

/** What the kernel leaves in there nobody may look into, not even its owner. */
export async function removeScratch(scratch: string) {
  await chmod(join(scratch, 'work'), 0o700).catch((error) => {
    if (error.code !== 'ENOENT') throw error
  })
  await removeTree(scratch)
}

const TRIAL_MS = 10_000

const optionsOf = ({ layers, changes }: Overlay, isRoot: boolean): string =>
  [
    `lowerdir=${layers.join(':')}`,
    ...(changes ? [`upperdir=${changes.folder}`, `workdir=${changes.scratch}`] : []),
    // Only root may use the attributes that are not for users.
    ...(isRoot ? [] : ['userxattr']),
  ].join(',')
