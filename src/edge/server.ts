/**
 * The HTTP server of the edge: finds the target by host name, lets requests wait for a sleeping app, and answers them.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { doing } from '../watchdog/index.ts'
import { createAnswers } from './answers.ts'
import { assembleCache, type CacheSettings, type Inspection, type Purge } from './cache/index.ts'
import { createConnections } from './connections.ts'
import { type Counts, createCounts, type TrafficCounts } from './counts.ts'
import { createFastPath } from './fast-path/fast-path.ts'
import type { PlainRequest } from './fast-path/request.ts'
import { CountedResponse } from './http/counted-response.ts'
import { createForwarded } from './http/forwarded.ts'
import { PAGES, type Page, sendPage } from './http/pages.ts'
import { faultOf, refuseMalformed, refuseOn, refuseRequest } from './http/strict.ts'
import { readAddress, type Visit } from './http/visit.ts'
import type { Wire } from './http/wire.ts'
import { type BoundSocket, createJobServers } from './job-servers.ts'
import { LIMITS, type Limits } from './limits.ts'
import { createLoops } from './loops.ts'
import { createPaths, type Paths } from './paths.ts'
import { createInFlight } from './proxy/in-flight.ts'
import { createPendingRequests, isWaiting } from './proxy/pending-requests.ts'
import { createPools } from './proxy/pools.ts'
import { createProxy } from './proxy/proxy.ts'
import { createUpgrades, isUpgradable, refuseUpgrade } from './proxy/upgrade.ts'
import { createInstances } from './proxy/upstream/instances.ts'
import { createReferences } from './references.ts'
import type { RouteChanges } from './route-table.ts'
import { type Routed, type Routes, toHost } from './routes.ts'
import { createStatics } from './static/static.ts'

export type EdgeServer = {
  http: Server
  /** Other hosts keep their targets. */
  changeRoutes(changes: RouteChanges): void
  /** Replaces all targets. */
  useRoutes(routes: Routes): void
  /** Forgets what is stored for environments to which no host leads: they were deleted while the edge did not run. */
  forgetOthers(): void
  /**
   * The addresses of proxies in front of the edge, whose X-Forwarded headers are believed, and the range in which builds and apps
   * have their addresses.
   */
  trust(proxies: readonly string[], jobNetwork?: string): void
  /** From now on, requests are counted by path as well. */
  countPaths(): void
  /** Resolves when no request of the instance is in flight; after the time, the remaining ones are aborted. */
  drain(instance: string, graceMs: number): Promise<void>
  /** No later request is answered with what is purged. False: after a restart, one might be. */
  purge(purge: Purge, number?: number): boolean
  /** The same for everything that is stored. */
  purgeEverything(number: number): boolean
  /** The number of the last purge, also after a restart if there is a disk; 0 for none. */
  appliedPurge(): number
  inspect(environment: string, url: string): Promise<Inspection>
  /** Before the first request: sets the size of the cache, and recovers what was stored before a restart. */
  openCache(settings: CacheSettings): Promise<void>
  /** Writes what is pending to the disk. */
  closeCache(): Promise<void>
  /** Builds and apps reach the edge at this socket. */
  listenToJobs(handle: BoundSocket): void
  /** Whether a host is one of a site. */
  isSite(host: string): boolean
  /** Requests to instances since the last call, by deployment; undefined when there were none. */
  takeActivity(): Record<string, number> | undefined
  /** Requests to instances in flight now, by deployment. */
  load(): Record<string, number>
  /** The traffic since the last call, by environment; undefined when there was none. */
  takeCounts(): Record<string, Counts> | undefined
  /** Accepts no new connection, lets requests end, and resolves when the last connection is closed. */
  stop(): Promise<void>
  /**
   * As `stop`, for an edge in whose place another accepts connections: requests that wait go on waiting, and a connection is
   * closed with its next response or when it has been idle for the usual time. A client that sends a request at this
   * moment gets its response.
   */
  retire(): Promise<void>
}

type Parts = {
  limits?: Limits
  /** A request waits for a deployment that sleeps. */
  wake?(deployment: string): void
  /** A request of an app to this deployment was refused, since it would never have ended. */
  onLoop?(deployment: string): void
  /** A fault of the edge: the visitor got a page without details. */
  report?(error: unknown): void
  /** The clock for the ages of stored responses. */
  now?(): number
  /** Where it returns false, the app is asked before each use of a stored response. */
  mayUseStored?(): boolean
  /** Without it, everything goes through node:http. Clients see no difference, which a test verifies. */
  hasFastPath?: boolean
}

/** What to do with a request once its target is known. */
type RequestHandlers = {
  goOn(target: Routed | undefined): void
  refuse(page: Page): void
  /** Whether it could be answered without an instance. */
  answerWithoutInstance?(target: Extract<Routed, { kind: 'asleep' | 'awaited' }>): boolean
}

export function createEdgeServer({
  limits = LIMITS,
  wake = noop,
  onLoop = noop,
  report = noop,
  now = Date.now,
  mayUseStored = () => true,
  hasFastPath = true,
}: Parts = {}): EdgeServer {
  const forwarded = createForwarded()
  const inFlight = createInFlight()
  const pools = createPools(limits)
  const statics = createStatics({ limits })
  const instances = createInstances({ limits, inFlight, pools, report })
  const cache = assembleCache({ limits, instances, forwarded, report, now, mayUseStored })
  const proxy = createProxy({ limits, inFlight, pools, forwarded })
  const upgrades = createUpgrades({ limits, inFlight, pools, forwarded })
  const answers = createAnswers({ statics, cache, proxy, upgrades, report })
  const pending = createPendingRequests({ limits, wake })
  const loops = createLoops({ limits, inFlight, forwarded, onLoop })
  let paths: Paths | undefined
  const counts = createCounts(() => paths)
  /** Connections that announced their end. Further requests in the same packet are ignored (RFC 9112, section 9.6). */
  const ending = new WeakSet<Socket>()
  const routes = new Map<string, Routed>()
  const references = createReferences()
  let isStopping = false
  let isRetiring = false

  const http = createHttpServer(
    limits,
    (request) => mayUpgrade(findTarget(readAddress(request)?.host)) && isUpgradable(request),
  )
  const jobServers = createJobServers({ http, limits, forwarded })
  const connections = createConnections({ http, limits, isExempt: forwarded.isTrusted })
  const fastPath = hasFastPath ? createFastPath({ http, limits, connections, answer: peek, report }) : undefined
  http.on('request', receive)
  // The app decides whether the client is to send its body: the proxy forwards the expectation.
  http.on('checkContinue', receive)
  http.on('upgrade', receiveUpgrade)
  http.on('clientError', refuseMalformed)

  function receive(request: IncomingMessage, response: CountedResponse) {
    response.on('error', noop)
    if (ending.has(request.socket)) return
    response.on('timeout', (socket: Socket) => {
      if (isStalled(request, response)) socket.destroy()
    })
    // After a request for an upgrade that is not allowed, node:http loses the rest of the packet.
    if (isStopping || isRetiring || request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    const fault = faultOf(request, limits)
    if (fault !== undefined || !response.shouldKeepAlive) ending.add(request.socket)
    if (fault !== undefined) return refuseRequest(response, fault)
    const address = readAddress(request)
    if (!address) return sendPage(response, PAGES.badRequest)
    doing(address.host)
    const visit = { ...address, request, response, isHit: false, isFromJob: false }
    countVisit(counts, environmentOf(address.host), visit)
    route(address.host, response, request, {
      goOn: (target) => loops.pass(visit, target, () => answers.answerOrFail(visit, choose(target))),
      refuse: (page) => sendPage(response, page),
      answerWithoutInstance: (target) => answers.answerWithoutInstance(visit, target),
    })
  }

  function receiveUpgrade(request: IncomingMessage, stream: NodeJS.WritableStream, head: Buffer) {
    const socket = stream as Socket
    socket.on('error', noop)
    if (ending.has(socket)) return
    socket.setTimeout(0)
    const fault = faultOf(request, limits)
    if (fault !== undefined) return refuseOn(socket, fault)
    const address = readAddress(request)
    if (!address) return refuseUpgrade(socket, PAGES.badRequest)
    doing(address.host)
    const onAnswer = countUpgrade(counts, environmentOf(address.host), socket)
    const upgrade = { ...address, request, socket, head, onAnswer }
    route(address.host, socket, request, {
      goOn(target) {
        try {
          answers.answerUpgrade(upgrade, choose(target))
        } catch (error) {
          report(error)
          socket.destroy()
        }
      },
      refuse: (page) => answers.refuse(upgrade, page),
    })
  }

  const findTarget = (host: string | undefined): Routed | undefined =>
    host === undefined ? undefined : routes.get(host)

  const choose = (target: Routed | undefined): Routed | undefined =>
    target?.kind === 'server' && target.peers ? inFlight.leastBusy(target.peers) : target

  const environmentOf = (host: string): string | undefined => findTarget(host)?.environment

  /** For the fast path: the complete response, if it is in memory. */
  function peek(request: PlainRequest, socket: Socket): Wire | undefined {
    doing(request.authority)
    const target = findTarget(toHost(request.authority))
    const wire = target && answers.peek(target, request, socket)
    if (wire) counts.quick(target.environment, request.target, wire)
    return wire
  }

  function route(host: string, visitor: ServerResponse | Socket, request: IncomingMessage, handlers: RequestHandlers) {
    const target = findTarget(host)
    if (!isWaiting(target)) return handlers.goOn(target)
    if (handlers.answerWithoutInstance?.(target)) return
    if (isStopping) return handlers.refuse(PAGES.down)
    const client = forwarded.clientOf(request)
    pending.add({ host, visitor, connection: request.socket, client, ...handlers }, target)
  }

  function changeRoutes(changes: RouteChanges) {
    const before: Routed[] = []
    const after: Routed[] = []
    for (const [host, target] of changes) {
      const old = routes.get(host)
      if (old) before.push(old)
      if (target) after.push(target)
      if (target) routes.set(host, target)
      else routes.delete(host)
    }
    const unused = references.change(before, after)
    // After the switch, never before: until then the old deployment may answer, and its response may be stored.
    cache.useTargets(after)
    cache.forget(unused.environments)
    for (const instance of unused.instances) {
      pools.retire(instance)
      instances.retire(instance)
    }
    statics.forget(unused.staticSites, unused.manifests)
    pending.changeRoutes(changes)
  }

  const forgetOthers = () => cache.keepOnly(references.environments())

  return {
    http,
    trust: forwarded.trust,
    countPaths() {
      paths = createPaths()
    },
    changeRoutes,
    useRoutes(next) {
      const gone = [...routes.keys()].filter((host) => !next.has(host))
      changeRoutes(new Map([...gone.map((host): [string, undefined] => [host, undefined]), ...next]))
      forgetOthers()
    },
    forgetOthers,
    drain: inFlight.drain,
    purge: cache.purge,
    purgeEverything: cache.purgeEverything,
    appliedPurge: cache.appliedPurge,
    inspect: cache.inspect,
    openCache: cache.open,
    closeCache: cache.close,
    listenToJobs: jobServers.listen,
    isSite: (host) => routes.has(host),
    takeActivity: inFlight.takeActivity,
    load: inFlight.load,
    takeCounts: counts.take,
    stop() {
      isStopping = true
      fastPath?.close()
      pending.refuseAll()
      return closeGracefully(http, jobServers.close())
    },
    retire() {
      isRetiring = true
      fastPath?.close()
      return closeWhenUnused(http, jobServers.close())
    },
  }
}

function createHttpServer(limits: Limits, shouldUpgradeCallback: (request: IncomingMessage) => boolean) {
  const http = createServer({
    keepAliveTimeout: limits.idleClientMs,
    headersTimeout: limits.requestHeadMs,
    // An upload may take any time while it makes progress: `stalledClientMs` ends one that does not.
    requestTimeout: 0,
    maxHeaderSize: limits.requestHeaderBytes,
    // Most requests have no body, and need no stream for it.
    optimizeEmptyRequests: true,
    // `strict` refuses a request without one. node:http would answer by itself, and then read on.
    requireHostHeader: false,
    ServerResponse: CountedResponse,
    shouldUpgradeCallback,
  })
  http.timeout = limits.stalledClientMs
  return http
}

/** Requests to an unknown host name belong to no environment and are not counted. */
function countVisit(
  counts: TrafficCounts,
  environment: string | undefined,
  visit: Visit & { response: CountedResponse },
) {
  if (environment === undefined) return
  const counted = counts.begin(environment, visit.request.socket, visit.path)
  visit.response.onHead = (status) => counts.answered(counted, status, visit.isHit)
  visit.response.once('close', () => counts.end(counted))
}

/** Returns the function that gets the status of the answer. */
function countUpgrade(
  counts: TrafficCounts,
  environment: string | undefined,
  socket: Socket,
): (status: number) => void {
  if (environment === undefined) return noop
  const counted = counts.begin(environment, socket)
  socket.once('close', () => counts.end(counted))
  return (status) => counts.answered(counted, status, false)
}

/** `others` resolves when the other servers, which are closing, have no connection any more. */
async function closeGracefully(http: Server, others: Promise<void>): Promise<void> {
  // `close` ends the connections that are idle now; those that become idle later must be ended by us.
  const sweep = setInterval(() => http.closeIdleConnections(), SWEEP_MS)
  await Promise.all([new Promise<void>((resolve) => http.close(() => resolve())), others])
  clearInterval(sweep)
}

const SWEEP_MS = 50

/** Ends no connection. */
async function closeWhenUnused(http: Server, others: Promise<void>): Promise<void> {
  // The `close` of node:http would end the connections that are idle now.
  const closed = new Promise<void>((resolve) => void NetServer.prototype.close.call(http, () => resolve()))
  await Promise.all([closed, others])
}

const mayUpgrade = (target: Routed | undefined): boolean => target?.kind === 'server' || isWaiting(target)

/** No bytes moved for a while: is it the client's turn? An event stream may be silent for any time. */
function isStalled(request: IncomingMessage, response: ServerResponse): boolean {
  const isSendingNothing = !request.complete && request.readableFlowing === true
  const isReadingNothing = response.writableLength > 0
  return isSendingNothing || isReadingNothing
}

function noop() {
  // Errors of a connection are followed by its `close`, which is handled.
}
