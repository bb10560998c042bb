/**
 * The HTTP server of the edge: finds the target by host name, lets requests wait for a sleeping app, and answers them.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { doing } from '../watchdog/index.ts'
import { createAnswers } from './answers.ts'
import { assembleCache, type CacheSettings, createNewestPurges, type Inspection, type Purge } from './cache/index.ts'
import { closeGracefully, closeWhenUnused } from './closing.ts'
import { createConnections } from './connections.ts'
import type { Counts } from './counts.ts'
import { createFastPath } from './fast-path/fast-path.ts'
import { createPlainVisits } from './fast-path/plain-visits.ts'
import { createFrontDoor } from './front-door/front-door.ts'
import type { PortalSettings } from './front-door/portal.ts'
import { CountedResponse } from './http/counted-response.ts'
import { createForwarded } from './http/forwarded.ts'
import { PAGES, type Page, sendPage } from './http/pages.ts'
import { faultOf, refuseMalformed, refuseOn, refuseRequest } from './http/strict.ts'
import { readAddress } from './http/visit.ts'
import { type BoundSocket, createJobServers } from './job-servers.ts'
import { LIMITS, type Limits } from './limits.ts'
import { createLoops } from './loops.ts'
import { createObserver } from './observe.ts'
import { createGuard } from './protection/guard.ts'
import { changeOf } from './protection/outward.ts'
import { createInFlight } from './proxy/in-flight.ts'
import { createPendingRequests, isWaiting } from './proxy/pending-requests.ts'
import { createPools } from './proxy/pools.ts'
import { createProxy } from './proxy/proxy.ts'
import { createRewriteProxy } from './proxy/rewrite.ts'
import { createUpgrades, isUpgradable, refuseUpgrade } from './proxy/upgrade.ts'
import { createInstances } from './proxy/upstream/instances.ts'
import type { RequestRecords } from './request-log/record.ts'
import type { RouteChanges } from './route-table.ts'
import type { Routed, Routes, ServerTarget, StoredOutput } from './routes.ts'
import { createStatics } from './static/static.ts'
import { createTargets } from './targets.ts'
import { createSecureFront, type SecureFront } from './tls/front.ts'

export type EdgeServer = {
  http: Server
  secure: SecureFront
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
  /** The hosts that rewrites of static sites may lead to. */
  allowRewrites(hosts: readonly string[]): void
  /** From now on, requests are counted by path as well. */
  countPaths(): void
  /** From now on, requests are recorded one by one as well. */
  recordRequests(): void
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
  /** The recorded requests since the last call, by environment; undefined when there were none. */
  takeRequests(): RequestRecords | undefined
  /** Those could not be reported. */
  giveBackRequests(records: RequestRecords): void
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
  /** A request waits for these files, which are not on this machine. */
  fetchFiles?(output: StoredOutput): void
  /** A request of an app to this deployment was refused, since it would never have ended. */
  onLoop?(deployment: string): void
  /** A fault of the edge: the visitor got a page without details. */
  report?(error: unknown): void
  /** The clock for the ages of stored responses. */
  now?(): number
  /** Where it returns false, the app is asked before each use of a stored response. */
  mayUseStored?(): boolean
  /** Where it returns false, the addresses of instances may be those of other apps by now: requests wait. */
  mayUseInstances?(): boolean
  /** Without it, everything goes through node:http. Clients see no difference, which a test verifies. */
  hasFastPath?: boolean
  /** Where the portal is served by this edge as well. */
  portal?: PortalSettings | undefined
}

/** What to do with a request once its target is known. */
type RequestHandlers = {
  goOn(target: Routed | undefined): void
  refuse(page: Page): void
  /** Whether it could be answered without an instance. */
  answerWithoutInstance?(target: WithoutInstance): boolean
}

type WithoutInstance = Extract<Routed, { kind: 'asleep' | 'awaited' }>

export function createEdgeServer({
  limits = LIMITS,
  wake = noop,
  fetchFiles = noop,
  onLoop = noop,
  report = noop,
  now = Date.now,
  mayUseStored = () => true,
  mayUseInstances = () => true,
  hasFastPath = true,
  portal,
}: Parts = {}): EdgeServer {
  const forwarded = createForwarded()
  const inFlight = createInFlight()
  const pools = createPools(limits)
  const rewrites = createRewriteProxy({ limits, forwarded })
  const statics = createStatics({ limits, rewrites, report })
  const instances = createInstances({ limits, inFlight, pools, report })
  const newestPurges = createNewestPurges()
  const cache = assembleCache({ limits, instances, forwarded, report, now, mayUseStored, newestPurges })
  const proxy = createProxy({ limits, inFlight, pools, forwarded, newestPurges })
  const upgrades = createUpgrades({ limits, inFlight, pools, forwarded })
  const guard = createGuard({ limits, forwarded, now })
  const answers = createAnswers({ statics, cache, proxy, upgrades, report })
  const pending = createPendingRequests({ limits, wake, fetchFiles })
  const loops = createLoops({ limits, inFlight, forwarded, onLoop })
  const observer = createObserver({ forwarded })
  /** Connections that announced their end. Further requests in the same packet are ignored (RFC 9112, section 9.6). */
  const ending = new WeakSet<Socket>()
  const targets = createTargets({ cache, pools, instances, statics, pending, firstVisits: observer.firstVisits })
  let isStopping = false
  let isRetiring = false

  const http = createHttpServer(
    limits,
    (request) => mayUpgrade(findTarget(readAddress(request)?.host)) && isUpgradable(request),
  )
  const jobServers = createJobServers({ http, limits, forwarded })
  const connections = createConnections({ http, limits, isExempt: forwarded.isTrusted })
  const plain = createPlainVisits({ secure: () => secure, answers, loops, observer, findTarget, choose })
  const { peek: answer, begin: visit } = plain
  const fastPath = hasFastPath ? createFastPath({ http, limits, connections, answer, visit, report }) : undefined
  const secure = createSecureFront({
    http,
    limits,
    connections,
    answer: hasFastPath ? answer : () => undefined,
    report,
  })
  const frontDoor = createFrontDoor({ secure, forwarded, portal, hasSite: (host) => targets.find(host) !== undefined })
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
    if (frontDoor.answer(visit)) return
    const target = findTarget(address.host)
    observer.visit(target, visit)
    response.changeHeaders = secure.changeHeaders(request.socket, changeOf(target?.access))
    const handlers: RequestHandlers = {
      goOn: (target) => loops.pass(visit, target, () => answers.answerOrFail(visit, choose(target))),
      refuse: (page) => sendPage(response, page),
      answerWithoutInstance: (target) => answers.answerWithoutInstance(visit, target),
    }
    guard.admit(visit, target, {
      goOn: () => answers.unlessEarlierFile(visit, target, () => route(address.host, response, request, handlers)),
      fail: (error) => answers.fail(response, error),
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
    const target = findTarget(address.host)
    const onAnswer = observer.upgrade(target, { ...address, request, socket })
    const upgrade = { ...address, request, socket, head, onAnswer, changeHeaders: changeOf(target?.access) }
    const handlers: RequestHandlers = {
      goOn: (target) => answers.answerUpgrade(upgrade, choose(target)),
      refuse: (page) => answers.refuse(upgrade, page),
    }
    guard.admitUpgrade(upgrade, target, {
      goOn: () => route(address.host, socket, request, handlers),
      refuse: (page, headers) => answers.refuse(upgrade, page, headers),
      fail: (error) => answers.failUpgrade(upgrade, error),
    })
  }

  function findTarget(host: string | undefined): Routed | undefined {
    const found = host === undefined ? undefined : targets.find(host)
    return found?.kind === 'server' && !mayUseInstances() ? withoutInstance(found) : found
  }

  function choose(target: Routed | undefined): Routed | undefined {
    return target?.kind === 'server' && target.peers ? inFlight.leastBusy(target.peers) : target
  }

  function route(host: string, visitor: ServerResponse | Socket, request: IncomingMessage, handlers: RequestHandlers) {
    const target = findTarget(host)
    if (!isWaiting(target)) return handlers.goOn(target)
    if (target.kind !== 'unfetched' && handlers.answerWithoutInstance?.(target)) return
    if (isStopping) return handlers.refuse(PAGES.down)
    const client = forwarded.clientOf(request)
    pending.add({ host, visitor, connection: request.socket, client, ...handlers }, target)
  }

  const others = () => Promise.all([jobServers.close(), secure.close()])
  const end = () => {
    connections.end()
    frontDoor.close()
  }

  return {
    http,
    secure,
    trust: forwarded.trust,
    allowRewrites: rewrites.allow,
    countPaths: observer.countPaths,
    recordRequests: observer.recordRequests,
    changeRoutes: targets.changeRoutes,
    useRoutes: targets.useRoutes,
    forgetOthers: targets.forgetOthers,
    drain: inFlight.drain,
    purge(purge, number) {
      const isKept = cache.purge(purge, number)
      observer.firstVisits.purged(purge)
      return isKept
    },
    purgeEverything: cache.purgeEverything,
    appliedPurge: cache.appliedPurge,
    inspect: cache.inspect,
    openCache: cache.open,
    closeCache: cache.close,
    listenToJobs: jobServers.listen,
    isSite: (host) => targets.find(host) !== undefined,
    takeActivity: inFlight.takeActivity,
    load: inFlight.load,
    takeCounts: observer.takeCounts,
    takeRequests: observer.takeRequests,
    giveBackRequests: observer.giveBackRequests,
    stop() {
      isStopping = true
      fastPath?.close()
      pending.refuseAll()
      return closeGracefully(http, others()).then(end)
    },
    retire() {
      isRetiring = true
      fastPath?.close()
      return closeWhenUnused(http, others()).then(end)
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

function withoutInstance({ environment, earlierFiles, access, deployment }: ServerTarget): Routed {
  return {
    ...{ kind: 'awaited', environment, deployment },
    ...(earlierFiles === undefined ? {} : { earlierFiles }),
    ...(access ? { access } : {}),
  }
}

const mayUpgrade = (target: Routed | undefined): boolean =>
  target?.kind === 'server' || target?.kind === 'asleep' || target?.kind === 'awaited'

/** No bytes moved for a while: is it the client's turn? An event stream may be silent for any time. */
function isStalled(request: IncomingMessage, response: ServerResponse): boolean {
  const isSendingNothing = !request.complete && request.readableFlowing === true
  const isReadingNothing = response.writableLength > 0
  return isSendingNothing || isReadingNothing
}

function noop() {
  // Errors of a connection are followed by its `close`, which is handled.
}
