/** Layers without a copy: the kernel's overlay file system, mounted on the stage of a job. Whether this machine has it. */
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { removeTree } from '../../base/index.ts'
import { stageFor } from './stage.ts'

/** What keeps overlays from working in a folder of this machine; nothing if they do. Tried and not guessed. */
export async function overlayProblem(folder: string, isRoot: boolean): Promise<string | undefined> {
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
    const { around, mounts } = stageFor({
      mounts: [{ from: at, to: '/app', isWritable: true }],
      overlays: [{ at, layers: [layer], changes: { folder: changes, scratch } }],
      isRoot,
    })
    const [file = '', ...args] = around(['/bin/sh', '-c', 'echo above > "$0"', join(mounts[0]?.from ?? '', 'file')])
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
