/**
 * Keeps the edge's route table in step with the database and the running processes. Code that changes what visitors get calls
 * `touch` in the same transaction and `publish` after it; other processes see the new revision and follow within a second.
 */
import { join } from 'node:path'
import type { Domains, Environments } from '../apps/index.ts'
import { type Clock, type Log, type Repetition, repeat, systemClock } from '../base/index.ts'
import type { BuildOutput, Outputs } from '../builds/index.ts'
import { type Edge, MANIFEST_NAME, type RouteTable, type Target } from '../edge/index.ts'
import type { Supervisor } from '../runtime/index.ts'
import type { Transaction } from '../storage/index.ts'
import type { Deployments } from './records/deployments.ts'

const FOLLOW_MS = 1000

/** The pause after a table is as long as the table took, up to this: a client that causes tables in a loop gets half the time at most. */
const MAX_PAUSE_MS = 1000

type Parts = {
  clock: Clock
  log: Log
  environments: Pick<Environments, 'routable' | 'routesRevision' | 'raiseRoutesRevision'>
  domains: Domains
  deployments: Pick<Deployments, 'outputsOf'>
  outputs: Outputs
  supervisor: Pick<Supervisor, 'of' | 'onChange'>
  edge: Pick<Edge, 'publish'>
  domain: string
}

export function createRouting(parts: Parts) {
  const { clock, log, environments, domains, deployments, outputs, supervisor, edge, domain } = parts
  let current: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  let publishedRevision = -1
  let pauseUntil = 0
  const stopping = new AbortController()
  /** The output of a deployment never changes, so it is read once. */
  const known = new Map<string, BuildOutput>()

  async function publishOnce(): Promise<void> {
    // The revision is read before the rows: a change in between is published twice, and never missed.
    const revision = await environments.routesRevision()
    const routable = await environments.routable()
    await readOutputs(routable.flatMap(({ liveDeployment }) => liveDeployment ?? []))
    const custom = await domains.all()
    const hosts: RouteTable['hosts'] = {}
    const own: RouteTable['hosts'] = {}
    for (const { id, hostLabel, liveDeployment } of routable) {
      const target: Target = liveDeployment ? targetOf(id, liveDeployment) : { kind: 'empty', environment: id }
      own[`${hostLabel}.${domain}`] = target
      for (const { name, redirectTo } of custom.get(id) ?? []) {
        hosts[name] = redirectTo === null ? target : { kind: 'redirect', environment: id, to: redirectTo }
      }
    }
    // The host of the environment itself comes last and wins: after a change of the domain, a custom name may be the same.
    await edge.publish({ hosts: { ...hosts, ...own } }, stopping.signal)
    publishedRevision = revision
  }

  function targetOf(environment: string, deployment: string): Target {
    const made = known.get(deployment)
    // It was deleted between the two queries, and the next table does not have it.
    if (!made) return { kind: 'empty', environment }
    if (made.kind === 'static') {
      const manifest = join(outputs.edgeFolderOf(made.output), MANIFEST_NAME)
      return { kind: 'static', environment, deployment, folder: outputs.filesOf(made.output), manifest }
    }
    const running = supervisor.of(deployment)
    if (running?.state === 'CRASH_LOOP') return { kind: 'down', environment, deployment }
    if (!running?.instance) return { kind: 'asleep', environment, deployment }
    const { id, host, port } = running.instance
    return { kind: 'server', environment, deployment, instance: id, host, port }
  }

  /** Keeps `known` to what the live deployments need. */
  async function readOutputs(live: readonly string[]) {
    const wanted = new Set(live)
    for (const deployment of known.keys()) if (!wanted.has(deployment)) known.delete(deployment)
    const missing = live.filter((deployment) => !known.has(deployment))
    for (const [deployment, output] of await deployments.outputsOf(missing)) known.set(deployment, output)
  }

  /** Resolves when the edge uses a table that was read after this call. Calls during a publication share the next one. */
  function publish(): Promise<void> {
    next ??= pause().then(() => {
      next = undefined
      const began = performance.now()
      current = publishOnce().finally(() => {
        pauseUntil = performance.now() + Math.min(performance.now() - began, MAX_PAUSE_MS)
      })
      return current
    })
    return next
  }

  async function pause() {
    await current.catch(() => undefined)
    const pauseMs = pauseUntil - performance.now()
    if (pauseMs >= 1) await systemClock.sleep(pauseMs, stopping.signal)
  }

  function publishInBackground() {
    publish().catch((error) => {
      if (!stopping.signal.aborted) log.error({ err: error }, 'the edge could not be given its routes')
    })
  }

  async function publishChanges() {
    try {
      if ((await environments.routesRevision()) !== publishedRevision) await publish()
    } catch (error) {
      if (!stopping.signal.aborted) log.error({ err: error }, 'the edge could not be given its routes')
    }
  }

  let following: Repetition | undefined

  return {
    publish,
    touch: (tx: Transaction): Promise<void> => environments.raiseRoutesRevision(tx),
    async start() {
      supervisor.onChange(publishInBackground)
      await publish()
      following = repeat(clock, FOLLOW_MS, publishChanges)
    },
    async stop() {
      stopping.abort(new Error('the service is stopping'))
      await following?.stop()
    },
  }
}

export type Routing = ReturnType<typeof createRouting>
