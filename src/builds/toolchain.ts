/**
 * Node and npm as builds and apps see them: read-only, the same for everybody, at one place. Node is the one that the
 * service itself runs on, npm the one of this machine.
 */
import { mkdir, readlink, realpath, rm, symlink } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { type Engine, type Job, type Mount, runToEnd } from '../engines/index.ts'

export type Toolchain = {
  mounts: Mount[]
  /** The PATH of every command. */
  path: string
}

const INSIDE = { bin: '/headland/bin', npm: '/headland/lib/npm', node: '/headland/node' }

type Parts = {
  /** Where the links are kept. */
  folder: string
  /** PATH of this machine, where npm is looked for. */
  searchPath: string
  isIsolating: boolean
}

export async function openToolchain({ folder, searchPath, isIsolating }: Parts): Promise<Toolchain> {
  const npm = await findNpm(searchPath)
  // Inside a sandbox the links lead to where things are mounted; without one, to where they are.
  const [npmRoot, node] = isIsolating ? [INSIDE.npm, INSIDE.node] : [npm, process.execPath]
  await mkdir(folder, { recursive: true, mode: 0o755 })
  await link(join(folder, 'node'), node)
  await link(join(folder, 'npm'), `${npmRoot}/bin/npm-cli.js`)
  await link(join(folder, 'npx'), `${npmRoot}/bin/npx-cli.js`)
  return {
    mounts: [
      { from: folder, to: INSIDE.bin, isWritable: false },
      { from: npm, to: INSIDE.npm, isWritable: false },
    ],
    path: `${INSIDE.bin}:/usr/local/bin:/usr/bin:/bin`,
  }
}

const TRIAL_MS = 30_000

/** Whether a user can run npm out of it. Tried and not guessed, since every folder on the way has a say. */
export async function isUsableBy(user: Job['user'], { mounts, path }: Toolchain, engine: Engine): Promise<boolean> {
  const environment = { PATH: path, HOME: '/tmp' }
  const job: Job = { argv: [`${INSIDE.bin}/npm`, '--version'], cwd: '/', environment, mounts, user }
  const { code } = await runToEnd(engine, job, () => undefined, AbortSignal.timeout(TRIAL_MS))
  return code === 0
}

/** The folder of npm's package, by the `npm` that a shell would find. */
async function findNpm(searchPath: string): Promise<string> {
  for (const folder of searchPath.split(delimiter)) {
    const found = await realpath(join(folder, 'npm')).catch(absent)
    if (found?.endsWith('npm-cli.js')) return dirname(dirname(found))
  }
  throw new Error('npm was not found in PATH. It comes with Node; install it, and start again.')
}

async function link(path: string, target: string) {
  if ((await readlink(path).catch(absent)) === target) return
  await rm(path, { force: true })
  await symlink(target, path)
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR' && error.code !== 'EACCES') throw error
}
