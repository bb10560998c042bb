/** Whether the kernel's overlay file system works on this machine: layers without a copy, mounted on the stage of a job. */
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { absent, removeTree } from '../../base/index.ts'
import { stageFor } from './stage.ts'

/** Why overlays do not work in a folder of this machine; undefined if a trial succeeds. */
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
    // On a full disk the trial proves nothing, and the disk will not always be full.
    if (code === 'ENOSPC' || /No space left/.test(stderr ?? '')) return undefined
    return (stderr || message).trim()
  } finally {
    await removeScratch(join(trial, 'scratch'))
    await removeTree(trial)
  }
}

/** The kernel leaves a folder in there with mode 0, which not even its owner can list. */
export async function removeScratch(scratch: string) {
  await chmod(join(scratch, 'work'), 0o700).catch(absent)
  await removeTree(scratch)
}

const TRIAL_MS = 10_000
