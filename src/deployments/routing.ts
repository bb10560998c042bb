/**
 * Keeps the edge's route table the picture of the database and of the processes that run. Whoever changes what visitors
 * get calls `touch` in the same transaction and `publish` after it; other processes see the risen revision and follow
 * within a second.
 */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Domains, Environments } from '../apps/index.ts'
import type { Clock, Log } from '../base/index.ts'
import type { Outputs } from '../builds/index.ts'
import { type Edge, MANIFEST_NAME, type RouteTable, type Target } from '../edge/index.ts'
import type { Supervisor } from '../runtime/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'
import { type MadeOf, readMadeOf } from './records/made-of.ts'

const FOLLOW_MS = 1000

/** After a table that took a while the next one waits as long, up to this: whoever changes things in a loop gets half the time at most. */
const MAX_REST_MS = 1000

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  environments: Environments
  domains: Domains
  outputs: Outputs
  supervisor: Pick<Supervisor, 'of' | 'onChange'>
  edge: Pick<Edge, 'publish'>
  domain: string
}

export function createRouting({ sql, clock, log, environments, domains, outputs, supervisor, edge, domain }: Parts) {
  let current: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  let publishedRevision = -1
  let restUntil = 0
  const stopping = new AbortController()
  /** A deployment never changes, so what kind of target it is is read once. */
  const kinds = new Map<string, MadeOf>()

  async function publishOnce(): Promise<void> {
    // The revision is read before the rows: a change in between is published twice, never missed.
    const revision = await readRevision()
    const routable = await environments.routable()
    await readKinds(routable.flatMap(({ liveDeployment }) => liveDeployment ?? []))
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
    // An environment's own host comes last, and so wins: after a change of the domain, a custom name may lie under it.
    await edge.publish({ hosts: { ...hosts, ...own } }, stopping.signal)
    publishedRevision = revision
  }

  function targetOf(environment: string, deployment: string): Target {
    const made = kinds.get(deployment)
    // Deleted between the two queries: the next table has it no more.
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

  /** Keeps `kinds` what the live deployments need, and no more. */
  async function readKinds(live: readonly string[]) {
    const wanted = new Set(live)
    for (const known of kinds.keys()) if (!wanted.has(known)) kinds.delete(known)
    const missing = live.filter((deployment) => !kinds.has(deployment))
    for (const [deployment, made] of await readMadeOf(sql, missing)) kinds.set(deployment, made)
  }

  async function readRevision(): Promise<number> {
    const [row] = await sql.query<{ value: number }>(statement`SELECT value FROM revisions WHERE name = 'routes'`)
    return row?.value ?? 0
  }

  /** Resolves when the edge uses a table that was read after this call. Calls made meanwhile share the next one. */
  function publish(): Promise<void> {
    next ??= rest().then(() => {
      next = undefined
      const began = performance.now()
      current = publishOnce().finally(() => {
        restUntil = performance.now() + Math.min(performance.now() - began, MAX_REST_MS)
      })
      return current
    })
    return next
  }

  async function rest() {
    await current.catch(() => undefined)
    const restMs = restUntil - performance.now()
    if (restMs >= 1 && !stopping.signal.aborted)
      await wait(restMs, undefined, { signal: stopping.signal }).catch(ignore)
  }

  function publishInBackground() {
    publish().catch((error) => {
      if (!stopping.signal.aborted) log.error({ err: error }, 'the edge could not be given its routes')
    })
  }

  async function follow() {
    while (!stopping.signal.aborted) {
      await clock.sleep(FOLLOW_MS, stopping.signal)
      if (stopping.signal.aborted) return
      try {
        if ((await readRevision()) !== publishedRevision) await publish()
      } catch (error) {
        if (!stopping.signal.aborted) log.error({ err: error }, 'the edge could not be given its routes')
      }
    }
  }

  let following: Promise<void> | undefined

  return {
    publish,
    async touch(tx: Transaction) {
      await tx.query(statement`UPDATE revisions SET value = value + 1 WHERE name = 'routes'`)
    },
    async start() {
      supervisor.onChange(publishInBackground)
      await publish()
      following = follow()
    },
    async stop() {
      stopping.abort(new Error('the service is stopping'))
      await following
    },
  }
}

const ignore = () => undefined

export type Routing = ReturnType<typeof createRouting>
