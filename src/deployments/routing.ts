/**
 * Keeps the routes of all edges in step with the database. Code that changes what visitors get calls
 * `touch` in the same transaction and `publish` after it; other processes see the new revision and follow within a second.
 * A change costs the same however many environments there are: only those that were touched are read and sent.
 */
import { join } from 'node:path'
import type { CookieKeys, Domain, Domains, Environments, RoutableEnvironment } from '../apps/index.ts'
import {
  type Changes,
  type Clock,
  type Log,
  type Repetition,
  repeat,
  settlesWithin,
  systemClock,
} from '../base/index.ts'
import type { BuildOutput, Outputs } from '../builds/index.ts'
import {
  type Access,
  type EdgeMember,
  type Edges,
  type EnvironmentRoutes,
  MANIFEST_NAME,
  type RouteTarget,
} from '../edge/index.ts'
import type { Images } from '../images/index.ts'
import type { Transaction } from '../storage/index.ts'
import { isIndexName } from './earlier-index-name.ts'
import type { Folders } from './folders.ts'
import type { Deployments } from './records/deployments.ts'

const FOLLOW_MS = 1000

/** Followers of no account, but of routes. */
const HINTS = 'routes'

/** The next publication does not wait longer for the edges of this one: files on their way to one keep no other change back. */
const CONFIRM_MS = 500

/** The pause after a publication is as long as it took, up to this: a client that causes them in a loop gets half the time at most. */
const MAX_PAUSE_MS = 1000

/** A statement takes a limited number of values. */
const AT_A_TIME = 500

/** With more changes than this, everything is read instead. */
const MAX_CHANGES = 1000

type Parts = {
  clock: Clock
  log: Log
  environments: Pick<Environments, 'routable' | 'routesRevision' | 'routesChangedSince' | 'touchRoutes' | 'labelsIn'>
  cookieKeyOf: CookieKeys
  domains: Pick<Domains, 'routed'>
  deployments: Pick<Deployments, 'outputsOf' | 'earlierIndexesOf'>
  outputs: Pick<Outputs, 'filesOf' | 'edgeFolderOf'>
  /** Given where edges of other machines get the files of static sites from a registry. */
  images?: Pick<Images, 'referencesOf'> | undefined
  folders: Pick<Folders, 'earlier'>
  edges: Pick<Edges, 'setRoutes' | 'serving' | 'onConnected'>
  domain: string
  /** Other control processes, where several may use the database. */
  others?: OtherControls | undefined
}

export type OtherControls = Pick<Edges, 'routed' | 'untilOthersRouted'> & {
  /** Tells of changes by other processes. */
  changes: Pick<Changes, 'follow'>
}

/** What live deployments are made of, by deployment. */
type Made = {
  outputs: ReadonlyMap<string, BuildOutput>
  /** References of images, by output. */
  images: ReadonlyMap<string, string>
  indexes: ReadonlyMap<string, string>
}

export function createRouting(parts: Parts) {
  const { clock, log, environments, cookieKeyOf, domains, deployments, outputs, images, folders, edges } = parts
  const { domain, others } = parts
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | undefined
  /** The newest that was sent. */
  let publishedRevision = -1
  let pauseUntil = 0
  const stopping = new AbortController()

  /** Resolves when everything is sent, to what resolves when all edges use it. */
  async function publishOnce(): Promise<{ used: Promise<unknown> }> {
    // The revision is read before the rows: a change in between is published twice, and never missed.
    const revision = await environments.routesRevision()
    const behind = Map.groupBy(edges.serving(), (edge) => edge.sentRevision)
    const used: Promise<unknown>[] = []
    for (const [since, group] of behind) {
      if (since !== revision) used.push(...(await send(group, since, revision)))
      else for (const edge of group) used.push(confirmed(edge, revision))
    }
    publishedRevision = revision
    return { used: Promise.all(used).then(() => others?.routed(revision)) }
  }

  /** It was sent the routes of now. */
  async function confirmed(edge: EdgeMember, revision: number) {
    if (edge.revision === revision) edge.isRouted = true
    else await edge.routed
  }

  async function send(group: readonly EdgeMember[], since: number | null, revision: number): Promise<Promise<void>[]> {
    // One that is ahead has followed another database, as before a backup was restored.
    const changed = since === null || since > revision ? undefined : await changedSince(since)
    const sent = { routes: await readRoutes(changed), isWhole: changed === undefined, revision }
    return group.map((edge) => edges.setRoutes(edge, sent))
  }

  async function changedSince(revision: number): Promise<string[] | undefined> {
    const changed = await environments.routesChangedSince(revision, MAX_CHANGES + 1)
    return changed.length > MAX_CHANGES ? undefined : changed
  }

  /** Of all environments where none are named. */
  async function readRoutes(ids?: readonly string[]): Promise<EnvironmentRoutes[]> {
    const routable = await environments.routable(ids)
    const live = routable.flatMap(({ liveDeployment }) => liveDeployment ?? [])
    const liveOutputs = await deployments.outputsOf(live)
    const made = {
      outputs: liveOutputs,
      images: await imagesOf([...liveOutputs.values()]),
      indexes: await deployments.earlierIndexesOf(live),
    }
    const custom = await withoutOwnHosts(await domains.routed(ids))
    const found = routable.map((environment) => routesOf(environment, custom.get(environment.id) ?? [], made))
    const routed = new Set(routable.map(({ id }) => id))
    const removed = (ids ?? []).filter((id) => !routed.has(id))
    return [...found, ...removed.map((environment) => ({ environment, hosts: {} }))]
  }

  async function imagesOf(made: readonly BuildOutput[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    const wanted = images ? made.flatMap(({ kind, output }) => (kind === 'static' ? output : [])) : []
    for (let from = 0; from < wanted.length; from += AT_A_TIME)
      for (const [output, image] of (await images?.referencesOf(wanted.slice(from, from + AT_A_TIME))) ?? [])
        found.set(output, image)
    return found
  }

  /** After a change of the domain, a custom name may be the own host of another environment, which wins. */
  async function withoutOwnHosts(custom: Map<string, Domain[]>): Promise<Map<string, Domain[]>> {
    const suffix = `.${domain}`
    const inside = [...custom.values()].flat().filter(({ name }) => name.endsWith(suffix))
    if (inside.length === 0) return custom
    const labels = await environments.labelsIn(inside.map(({ name }) => name.slice(0, -suffix.length)))
    const isFree = ({ name }: Domain) => !name.endsWith(suffix) || !labels.has(name.slice(0, -suffix.length))
    return new Map([...custom].map(([id, names]) => [id, names.filter(isFree)]))
  }

  function routesOf(environment: RoutableEnvironment, custom: readonly Domain[], made: Made): EnvironmentRoutes {
    const { id, hostLabel, liveDeployment } = environment
    const target = { ...targetOf(id, liveDeployment, made), ...earlierFilesOf(id, liveDeployment, made) }
    const hosts: Record<string, RouteTarget> = { [`${hostLabel}.${domain}`]: target }
    for (const { name, redirectTo } of custom)
      hosts[name] = redirectTo === null ? target : { kind: 'redirect', environment: id, to: redirectTo }
    const access = accessOf(environment)
    return { environment: id, hosts, ...(access ? { access } : {}) }
  }

  /** Undefined for an environment that everybody may see and find. */
  function accessOf({ id, isProduction, protection }: RoutableEnvironment): Access | undefined {
    const { passwordHash: hash, addresses } = protection
    const isProtected = hash !== null || addresses.length > 0
    if (isProduction && !isProtected) return undefined
    const password = hash === null ? {} : { password: { hash, cookieKey: cookieKeyOf(id, hash) } }
    return {
      ...(isProduction ? {} : { isHidden: true }),
      ...(isProtected ? { protection: { ...password, ...(addresses.length > 0 ? { addresses } : {}) } } : {}),
    }
  }

  function targetOf(environment: string, deployment: string | null, { outputs: found, images }: Made): RouteTarget {
    const made = deployment === null ? undefined : found.get(deployment)
    // Without an output, it was deleted between the two queries: the next publication does not have it.
    if (deployment === null || !made) return { kind: 'empty', environment }
    if (made.kind === 'server') return { kind: 'server', environment, deployment }
    const manifest = join(outputs.edgeFolderOf(made.output), MANIFEST_NAME)
    const image = images.get(made.output)
    const stored = image === undefined ? {} : { output: { digest: made.output, image } }
    return { kind: 'static', environment, deployment, folder: outputs.filesOf(made.output), manifest, ...stored }
  }

  function earlierFilesOf(environment: string, deployment: string | null, { indexes }: Made) {
    const index = deployment === null ? undefined : indexes.get(deployment)
    const isUsable = index !== undefined && isIndexName(index)
    return isUsable ? { earlierFiles: join(folders.earlier(environment), index) } : {}
  }

  /** Resolves when all edges use routes that were read after this call, also those of other control processes. */
  async function publish(): Promise<void> {
    await publishHere()
    await others?.untilOthersRouted(publishedRevision, stopping.signal)
  }

  /** Calls during a publication share the next one. */
  function publishHere(): Promise<void> {
    next ??= pause().then(async () => {
      next = undefined
      const began = performance.now()
      const sending = publishOnce()
      current = sending
        .then(({ used }) => settlesWithin(systemClock, used, CONFIRM_MS))
        .catch((error) => {
          // It is repeated soon: an edge that has just connected would otherwise wait for the next change of a route.
          publishedRevision = -1
          throw error
        })
        .finally(() => {
          pauseUntil = performance.now() + Math.min(performance.now() - began, MAX_PAUSE_MS)
        })
      await current
      await (await sending).used
    })
    return next
  }

  async function pause() {
    await current.catch(() => undefined)
    const pauseMs = pauseUntil - performance.now()
    if (pauseMs >= 1) await systemClock.sleep(pauseMs, stopping.signal)
  }

  async function publishChanges() {
    try {
      if ((await environments.routesRevision()) !== publishedRevision) await publishHere()
    } catch (error) {
      reportFailure(error)
    }
  }

  function reportFailure(error: unknown) {
    if (!stopping.signal.aborted) log.error({ err: error }, 'the edges could not be given their routes')
  }

  let following: Repetition | undefined
  let forgetEdges: (() => void) | undefined
  let forgetHints: (() => void) | undefined

  return {
    publish,
    /** What visitors of this environment get has changed. */
    async touch(tx: Transaction, environmentId: string): Promise<void> {
      await environments.touchRoutes(tx, environmentId)
      if (others) tx.notify(HINTS, environmentId)
    },
    async start() {
      forgetEdges = edges.onConnected(() => void publishHere().catch(reportFailure))
      await publishHere()
      // A hint, which may be lost.
      forgetHints = others?.changes.follow(HINTS, () => void publishChanges())
      following = repeat(clock, FOLLOW_MS, publishChanges)
    },
    async stop() {
      forgetEdges?.()
      forgetHints?.()
      stopping.abort(new Error('the service is stopping'))
      await following?.stop()
      await current.catch(() => undefined)
    },
  }
}

export type Routing = ReturnType<typeof createRouting>
