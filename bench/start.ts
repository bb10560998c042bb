/** What a start costs, npm included, and the memory of the idle service. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { processesOf, type Role } from '../test/support/service/processes.ts'
import { type Bench, median, type Result } from './bench.ts'
import { commandOf, type Memory, memoryOf, treeCpuMs, treePids } from './cpu.ts'
import { environmentOf, PROJECT, ready, temporaryFolder } from './service.ts'

const STARTS = 5
const IDLE_AFTER_MS = 5000

type Start = { cpuMs: number; idle: Idle | undefined }
type Idle = Record<'serve' | Role, Memory>

export const start: Bench = {
  name: 'start',
  what: 'npm start on a data folder that exists, beside npm start of a bare Fastify; then idle for a while',
  noise: 'CPU time of the whole tree; five starts of each in turns, medians; memory as the kernel counts it',
  async run() {
    await using data = await temporaryFolder()
    await using bare = await bareProject()
    const serve = (idleMs?: number) => npmStart(PROJECT, environmentOf(data.path), idleMs)
    await serve()
    const ours: Start[] = []
    const peer: Start[] = []
    for (let round = 0; round < STARTS; round++) {
      ours.push(await serve(round === 0 ? IDLE_AFTER_MS : undefined))
      peer.push(await npmStart(bare.path, environmentOf(data.path)))
    }
    return [
      {
        what: 'CPU until ready',
        unit: 'ms',
        ours: median(ours.map(({ cpuMs }) => cpuMs)),
        peer: median(peer.map(({ cpuMs }) => cpuMs)),
        goal: { of: 'ours', max: 1000 },
      },
      ...memoryRows(ours[0]?.idle as Idle),
    ]
  },
}

function memoryRows(idle: Idle): Result[] {
  const sum = Object.values(idle).reduce((total, { pss }) => total + pss, 0)
  const rows = Object.entries(idle).map(([what, { pss }]) => ({ what: `idle PSS, ${what}`, unit: 'MB', ours: pss }))
  return [...rows, { what: 'idle PSS, all processes', unit: 'MB', ours: sum }]
}

/** The peer as a project that npm can start. */
async function bareProject() {
  const folder = await temporaryFolder()
  const program = fileURLToPath(new URL('./bare-fastify.ts', import.meta.url))
  const scripts = { start: `'${process.execPath}' '${program}'` }
  await writeFile(join(folder.path, 'package.json'), JSON.stringify({ name: 'bare', private: true, scripts }))
  return folder
}

async function npmStart(folder: string, env: NodeJS.ProcessEnv, idleMs?: number): Promise<Start> {
  const child = spawn('npm', ['start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    await ready(child)
    const cpuMs = treeCpuMs(child.pid as number)
    if (idleMs !== undefined) await sleep(idleMs)
    return { cpuMs, idle: idleMs === undefined ? undefined : idleOf(child) }
  } finally {
    await stop(child)
  }
}

/** The innermost process of the command line is the service: with an older Node, the command starts it as a child. */
function idleOf(child: ChildProcess): Idle {
  const serve = treePids(child.pid as number).findLast((pid) => /bin\/headland(\.js)? serve/.test(commandOf(pid)))
  if (serve === undefined) throw new Error('the service is not there')
  const roles = Object.entries(processesOf(serve)).map(([role, pid]) => [role, memoryOf(pid)])
  return { serve: memoryOf(serve), ...Object.fromEntries(roles) }
}

/** npm does not pass on every signal, so the program itself gets the signal; npm ends after it. */
async function stop(child: ChildProcess) {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  const programs = treePids(child.pid as number).filter((pid) =>
    /node .*(bin\/headland\S* serve|bare-fastify)/.test(commandOf(pid)),
  )
  for (const pid of programs.slice(-1)) process.kill(pid, 'SIGTERM')
  await exited
}
