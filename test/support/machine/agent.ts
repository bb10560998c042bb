/** An agent with the machine's real sandbox, and apps for it. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createAgentClient, startAgent } from '../../../src/agent/index.ts'
import { createLog, systemClock } from '../../../src/base/index.ts'
import type { InstanceRequest } from '../../../src/runtime/index.ts'
import { createLineLogs } from '../../../src/storage/index.ts'
import { temporaryFolder } from '../folder.ts'
import { TIMEOUT_MS } from '../until.ts'
import { LIMITS, testSandbox } from './engine.ts'

const engine = await testSandbox('/usr/bin/bwrap')
assert.ok('start' in engine, 'the tests need bubblewrap')
const SANDBOX = {
  isIsolating: engine.isIsolating,
  overlayMissing: engine.overlayMissing ?? null,
  description: engine.description,
  limits: engine.limits,
}
export const user = process.getuid?.() === 0 ? { uid: 210_003, gid: 210_003 } : undefined
export const never = new AbortController().signal
const log = createLog('silent')
const NOTHING_FROZEN = { memoryBytes: 0, ageMs: 0 }
const clock = systemClock

export async function openAgent(
  t: TestContext,
  awakeLimits = { apps: 0, memoryBytes: 0 },
  frozenLimits = NOTHING_FROZEN,
) {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'agent.sock')
  const logs = createLineLogs(join(folder, 'logs'))
  const start = async ({ isSuccessor }: { isSuccessor: boolean }) => {
    const agent = await startAgent({
      clock,
      log,
      version: 'test',
      path,
      engine,
      networks: undefined,
      // Each agent is a process of its own, and shares nothing with another one.
      logs: createLineLogs(join(folder, 'logs')),
      description: {
        sandbox: SANDBOX,
        sandboxMissing: null,
        limiter: { kind: 'watchdog', description: '' },
        network: { missing: 'a test' },
      },
      startDeadlineMs: TIMEOUT_MS,
      idleMs: 3_600_000,
      awakeLimits,
      frozenLimits,
      isSuccessor,
    })
    t.after(() => agent.stop(0))
    return agent
  }
  const agent = await start({ isSuccessor: false })
  /** A control process, or another one that takes its place. */
  const connect = () => {
    const client = createAgentClient({ clock, log, version: 'test', path, onVisited: () => undefined })
    t.after(() => client.stop())
    return { ...client, engine: client.engine(SANDBOX) }
  }
  /** Another agent takes the place of this one. */
  const replace = () => start({ isSuccessor: true })
  return { folder, logs, path, agent, connect, replace }
}

const SERVER = `
  require('node:http').createServer((_, response) => response.end(String(process.hrtime.bigint() && started)))
    .listen(process.env.PORT, process.env.HOST)
  const started = Date.now() + Math.random()`

export async function appIn(folder: string, deployment: string, script = SERVER): Promise<InstanceRequest> {
  const files = join(folder, deployment, 'files')
  await mkdir(files, { recursive: true })
  await writeFile(join(files, 'server.js'), script)
  return {
    deployment,
    build: deployment,
    owner: { account: 'ours', environment: `environment of ${deployment}` },
    layers: [files],
    cwd: '',
    binaries: [],
    limits: LIMITS,
    scaling: { minInstances: 0, maxInstances: 1, requestsPerInstance: 10 },
    runFolder: join(folder, deployment, 'run'),
    argv: ['node', 'server.js'],
    writable: [],
    variables: {},
    user,
    hostHeader: 'app.localhost',
    openToolchain: async () => ({
      node: process.versions.node,
      mounts: [],
      path: '/headland:/usr/bin:/bin',
      environment: {},
    }),
    log: { name: deployment, secrets: [], whenFull: 'rotate', maxBytes: 1_000_000 },
  }
}

export type Control = ReturnType<Awaited<ReturnType<typeof openAgent>>['connect']>
export async function askApp({ instances }: Control, deployment: string): Promise<string> {
  const instance = instances.of(deployment)?.instance
  assert.ok(instance, 'no instance answers')
  return (await fetch(`http://${instance.host}:${instance.port}/`)).text()
}
