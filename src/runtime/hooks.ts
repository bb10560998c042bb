/**
 * Files of ours that Node loads ahead of an app, where its plan says so by a variable. The app's own files stay as they
 * are. A variable of the app with the value `off` goes before the plan's.
 *
 * They are copied for each start, since the app's user must be able to read them, whatever rights the service's own files
 * have: Node refuses to start without a file that it is told to load.
 */
import { chmod, copyFile, mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTurns } from '../base/index.ts'
import type { Mount } from '../engines/index.ts'

/** `oldestNode` is what the oldest framework needs that the file knows: below it there is nothing to hold on to. */
const HOOKS = [{ variable: 'HEADLAND_NEXT_COHERENCE', folder: 'next', file: 'coherence.cjs', oldestNode: 18 }]
const SOURCE = fileURLToPath(new URL('./hooks', import.meta.url))
const INSIDE = '/headland/hooks'

export type Hooks = {
  mounts: readonly Mount[]
  /** For NODE_OPTIONS. */
  options: readonly string[]
}

export const NO_HOOKS: Hooks = { mounts: [], options: [] }

type Where = {
  /** The version that the app runs on. */
  node: string
  variables: Readonly<Record<string, string>>
  /** A folder of the deployment. */
  runFolder: string
  /** Whether the app sees mounts; else it sees the machine's own paths. */
  isIsolating: boolean
  /** What was revalidated in the environment: the text of the file that lies beside ours. */
  expiries?(): Promise<string>
}

export async function openHooks({ node, variables, runFolder, isIsolating, expiries }: Where): Promise<Hooks> {
  const mounts: Mount[] = []
  const options: string[] = []
  for (const { variable, folder, file, oldestNode } of HOOKS) {
    const wanted = variables[variable]
    if (wanted === undefined || wanted === 'off' || Number.parseInt(node, 10) < oldestNode) continue
    const from = join(runFolder, 'hooks', folder)
    await copyReadable(join(SOURCE, folder), from)
    if (expiries) await writeExpiries(runFolder, expiries)
    if (isIsolating) mounts.push({ from, to: join(INSIDE, folder), isWritable: false })
    // Quoted as Node reads it: the data folder may have a space in its path.
    options.push(`--require=${JSON.stringify(join(isIsolating ? join(INSIDE, folder) : from, file))}`)
  }
  return { mounts, options }
}

const inTurn = createTurns()

/**
 * Replaces the file as a whole, for a process that runs or is about to. What it is to hold is asked for in turn, so that the
 * newest is always the last one written. Without our files there is nothing to write it for.
 */
export async function writeExpiries(runFolder: string, expiries: () => Promise<string>) {
  await inTurn(runFolder, async () => {
    for (const { folder } of HOOKS) {
      const file = join(runFolder, 'hooks', folder, 'expiries.json')
      try {
        await writeFile(`${file}.new`, await expiries(), { mode: 0o644 })
        await chmod(`${file}.new`, 0o644)
        await rename(`${file}.new`, file)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      }
    }
  })
}

async function copyReadable(from: string, to: string) {
  await mkdir(to, { recursive: true, mode: 0o755 })
  await chmod(join(to, '..'), 0o755)
  await chmod(to, 0o755)
  for (const name of await readdir(from)) {
    await copyFile(join(from, name), join(to, name))
    await chmod(join(to, name), 0o644)
  }
}
