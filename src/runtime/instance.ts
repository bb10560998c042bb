/** One running process of a deployment: started on a free port, and trusted once it answers. */
import { execFile } from 'node:child_process'
import { lstat, mkdir, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { randomToken } from '../base/index.ts'
import type { Engine, Job, Mount, Process } from '../engines/index.ts'
import type { LineLog } from '../storage/index.ts'
import { untilItAnswers } from './health.ts'
import { giveBackPort, takePort } from './ports.ts'

export type InstanceSpec = {
  deployment: string
  /** The output of the build, which the app sees read-only. */
  filesFolder: string
  /** Where the folders are that the app may write to. */
  runFolder: string
  argv: readonly string[]
  writable: readonly string[]
  variables: Readonly<Record<string, string>>
  user: Job['user']
  /** The name that visitors will ask for: some apps refuse others. */
  hostHeader: string
  toolchain: { mounts: readonly Mount[]; path: string }
  log: LineLog
}

export type Instance = { id: string; host: string; port: number; process: Process }

const APP = '/app'
const HOST = '127.0.0.1'

export async function startInstance(
  engine: Engine,
  spec: InstanceSpec,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Instance> {
  const mounts = await mountsOf(spec)
  const port = await takePort()
  const process = startOn(port, mounts, engine, spec)
  try {
    await untilItAnswers({ process, host: HOST, port, hostHeader: spec.hostHeader, deadlineMs, signal })
  } catch (error) {
    await process.stop(0)
    throw error
  }
  return { id: randomToken(), host: HOST, port, process }
}

/** The port is the process's own until it ends, however it ends. */
function startOn(port: number, mounts: Mount[], engine: Engine, spec: InstanceSpec): Process {
  const job: Job = {
    argv: spec.argv,
    cwd: APP,
    environment: environmentOf(spec, port),
    mounts,
    user: spec.user,
  }
  const giveBack = () => giveBackPort(port)
  try {
    const process = engine.start(job, (stream, chunk) => spec.log.write(stream, '', chunk))
    process.exited.then(giveBack, giveBack)
    return process
  } catch (error) {
    giveBack()
    throw error
  }
}

/** Every server listens to one of these names. */
function environmentOf({ variables, toolchain }: InstanceSpec, port: number): Record<string, string> {
  return {
    ...variables,
    PATH: toolchain.path,
    HOME: '/tmp',
    TMPDIR: '/tmp',
    LANG: 'C.UTF-8',
    NODE_ENV: 'production',
    NODE_USE_SYSTEM_CA: '1',
    NEXT_TELEMETRY_DISABLED: '1',
    PORT: String(port),
    HOST,
    HOSTNAME: HOST,
    NITRO_HOST: HOST,
  }
}

/** A folder that the app writes to begins as the build left it. */
async function mountsOf({ filesFolder, runFolder, writable, toolchain }: InstanceSpec): Promise<Mount[]> {
  const mounts: Mount[] = [{ from: filesFolder, to: APP, isWritable: false }]
  for (const folder of writable) {
    // There is nothing to mount over where the build left no folder: one that is missing, a file, or a link, which would
    // be followed out here and lead anywhere.
    if (!(await isFolder(filesFolder, folder))) continue
    const own = join(runFolder, folder)
    if (!(await isFolder(runFolder, folder))) {
      const draft = `${own}.new`
      await rm(draft, { recursive: true, force: true })
      await mkdir(dirname(own), { recursive: true, mode: 0o755 })
      // cp keeps owners, and clones instead of copying where the file system can.
      await promisify(execFile)('cp', ['-aT', '--reflink=auto', join(filesFolder, folder), draft])
      await rename(draft, own)
    }
    mounts.push({ from: own, to: join(APP, folder), isWritable: true })
  }
  return [...mounts, ...toolchain.mounts]
}

/** Whether there is a folder at that path, reached without a link. */
async function isFolder(top: string, path: string): Promise<boolean> {
  const full = join(top, path)
  const found = await lstat(full).catch(absent)
  if (!found?.isDirectory()) return false
  return (await realpath(full)) === join(await realpath(top), path)
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}
