/** Starts processes that lead if they can, in the network of the nodes, where instances answer. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Scope } from '../folder.ts'
import type { Swarm } from '../machine/swarm.ts'
import { until } from '../until.ts'
import type { LeaderSettings } from './rows-leader.ts'

const PROGRAM = fileURLToPath(new URL('./rows-leader.ts', import.meta.url))

export async function startRowsLeader(scope: Scope, swarm: Swarm, own: Omit<LeaderSettings, 'socketPath'>) {
  const settings: LeaderSettings = { ...own, socketPath: swarm.nodes[0].socketPath }
  const [file = '', ...args] = [...swarm.inside, process.execPath, PROGRAM, JSON.stringify(settings)]
  const child: ChildProcess = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  let terms = ''
  child.stdout?.on('data', (text) => {
    terms += text
  })
  const exited = once(child, 'exit')
  async function end(signal: 'SIGKILL' | 'SIGTERM') {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await exited
  }
  const kill = () => end('SIGKILL')
  scope.after(kill)
  return {
    kill,
    /** It ends what it does first. */
    stop: () => end('SIGTERM'),
    leads: () => until(() => /leads/.test(terms), `${own.holder} leads`),
  }
}
