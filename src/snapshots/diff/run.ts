/** Compares two snapshots in a process of its own, with limits for heap and time: a CMS chose what is in them. */
import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Problem } from '../../contract/index.ts'
import type { Sealing } from '../pack.ts'
import type { Difference } from './compare.ts'

const PROGRAM = fileURLToPath(new URL(`./process${extname(import.meta.url)}`, import.meta.url))
const LIMITS = { heapMegabytes: 512, ms: 60_000 }

/** `folder` takes what is in the files, in clear, as long as the process needs it. */
export type CompareTask = { files: [before: string, after: string]; sealing: Sealing; folder: string }

export async function runCompare(given: Omit<CompareTask, 'folder'>): Promise<Difference> {
  const folder = await mkdtemp(join(tmpdir(), 'headland-content-'))
  try {
    return await compareIn({ ...given, folder })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The process is over when this ends. */
async function compareIn(task: CompareTask): Promise<Difference> {
  const child = fork(PROGRAM, {
    execArgv: [`--max-old-space-size=${LIMITS.heapMegabytes}`, '--no-warnings'],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const exited = new Promise<void>((over) => child.once('exit', () => over()).once('error', () => over()))
  const { promise, resolve, reject } = Promise.withResolvers<Difference>()
  const tooMuch = () =>
    reject(new Problem('CONTENT_TOO_LARGE', 'The snapshots of these builds are too large to compare.'))
  const timer = setTimeout(tooMuch, LIMITS.ms)
  child.on('message', (message: { done: Difference } | { fault: string }) =>
    'done' in message ? resolve(message.done) : reject(new Error(message.fault)),
  )
  child.on('error', reject)
  child.on('exit', (code, signal) => (signal ? tooMuch() : reject(new Error(`it ended with ${code}`))))
  child.send(task, () => undefined)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
    await exited
  }
}
