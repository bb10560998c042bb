/** Answers visitors: finds the target by host name, holds the request where the target sleeps, and hands it over. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { doing } from '../watchdog/index.ts'
import { assembleCache, type CacheSettings, type Inspection, type Purge } from './cache/index.ts'
import { createConnections } from './connections.ts'
import { type Counts, createCounts } from './counts.ts'
import { createFastPath } from './fast-path/fast-path.ts'
import type { PlainRequest } from './fast-path/request.ts'
import { CountedResponse } from './http/counted-response.ts'
import { createForwarded } from './http/forwarded.ts'
import { hasBody } from './http/headers.ts'
import { PAGES, type Page, sendPage } from './http/pages.ts'
import { sendRedirect } from './http/redirect.ts'
import { faultOf, refuseMalformed, refuseOn, refuseRequest } from './http/strict.ts'
import { readAddress, type Visit } from './http/visit.ts'
import type { Wire } from './http/wire.ts'
import { LIMITS, type Limits } from './limits.ts'
import { createPaths, type Paths } from './paths.ts'
import { createInFlight } from './proxy/in-flight.ts'
import { createPendingRequests, isWaiting } from './proxy/pending-requests.ts'
import { createPools } from './proxy/pools.ts'
import { createProxy } from './proxy/proxy.ts'
import { createUpgrades, isUpgradable, refuseUpgrade, type Upgrade } from './proxy/upgrade.ts'
import { createInstances } from './proxy/upstream/instances.ts'
import { NO_ROUTES, type Routed, type Routes, toHost } from './routes.ts'
import { UnreadableManifest } from './static/manifest-file.ts'
import { createStatics } from './static/static.ts'

export type EdgeServer = {
  http: Server
  useRoutes(routes: Routes): void
  /** Whose word about a visitor counts: the addresses of proxies in front of us. */
  trust(proxies: readonly string[]): void
  /** From now on, which paths are asked for most is counted, too. */
  countPaths(): void
  /** Resolves when no request of the instance is in flight; after the time, those that are left are broken off. */
  drain(instance: string, graceMs: number): Promise<void>
  /** No request that comes from now on is answered with what is to go. False: one after a restart might be. */
  purge(purge: Purge): boolean
  inspect(environment: string, url: string): Promise<Inspection>
  /** Before the first request: how much may be stored; and what was stored before a restart is there again. */
  openCache(settings: CacheSettings): Promise<void>
  /** Writes what is on its way to the disk. */
  closeCache(): Promise<void>
  /** Requests to instances since the last call, by deployment; undefined when there were none. */
  takeActivity(): Record<string, number> | undefined
  /** What visitors got since the last call, by environment; undefined where there were none. */
  takeCounts(): Record<string, Counts> | undefined
  /** Takes no new connection, lets requests end, and resolves when the last connection is closed. */
  stop(): Promise<void>
}

type Parts = {
  limits?: Limits
  /** A request is held for a deployment that sleeps. */
  wake?(deployment: string): void
  /** A fault that is ours: the visitor got a page that says nothing of it. */
  report?(error: unknown): void
  /** What the ages of stored responses are told by. */
  now?(): number
  /** Without it, everything goes through node:http: visitors cannot tell, and a test proves it. */
  hasFastPath?: boolean
}

export function createEdgeServer({
  limits = LIMITS,
  wake = noop,
  report = noop,
  now = Date.now,
  hasFastPath = true,
}: Parts = {}): EdgeServer {
  const forwarded = createForwarded()
  const inFlight = createInFlight()
  const pools = createPools(limits)
  const statics = createStatics({ limits })
  const instances = createInstances({ limits, inFlight, pools, report })
  const cache = assembleCache({ limits, instances, forwarded, report, now })
  const proxy = createProxy({ limits, inFlight, pools, forwarded })
  const upgrades = createUpgrades({ limits, inFlight, pools, forwarded })
  const held = createPendingRequests({ limits, wake })
  let paths: Paths | undefined
  const counts = createCounts(() => paths)
  /** Connections whose end is announced. What comes behind in the same packet is not taken (RFC 9112, section 9.6). */
  const ending = new WeakSet<Socket>()
  let routes = NO_ROUTES
  let isStopping = false

  const http = createServer({
    keepAliveTimeout: limits.idleClientMs,
    headersTimeout: limits.requestHeadMs,
    // An upload may take as long as it moves: `stalledClientMs` ends one that does not.
    requestTimeout: 0,
    maxHeaderSize: limits.requestHeaderBytes,
    // Most requests have no body, and need no stream for it.
    optimizeEmptyRequests: true,
    // `strict` refuses a request without one. node:http would answer by itself, and then read on.
    requireHostHeader: false,
    ServerResponse: CountedResponse,
    shouldUpgradeCallback: (request) => mayUpgrade(findTarget(readAddress(request)?.host)) && isUpgradable(request),
  })
  http.timeout = limits.stalledClientMs
  const connections = createConnections({ http, limits, isExempt: forwarded.isTrusted })
  const fastPath = hasFastPath ? createFastPath({ http, limits, connections, answer: peek, report }) : undefined
  http.on('request', receive)
  // Whether to go on with the body is for the upstream to say: the proxy asks it.
  http.on('checkContinue', receive)
  http.on('upgrade', receiveUpgrade)
  http.on('clientError', refuseMalformed)

  function receive(request: IncomingMessage, response: CountedResponse) {
    response.on('error', noop)
    if (ending.has(request.socket)) return
    response.on('timeout', (socket: Socket) => {
      if (isStalled(request, response)) socket.destroy()
    })
    // After a request for an upgrade that it may not make, node:http loses what came in the same packet.
    if (isStopping || request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    const fault = faultOf(request, limits)
    if (fault !== undefined || !response.shouldKeepAlive) ending.add(request.socket)
    if (fault !== undefined) return refuseRequest(response, fault)
    const address = readAddress(request)
    if (!address) return sendPage(response, PAGES.badRequest)
    doing(address.host)
    const visit = { ...address, request, response, isHit: false }
    count(visit)
    route(address.host, response, request, {
      goOn: (target) => answer(visit, target).catch((error) => fail(response, error)),
      refuse: (page) => sendPage(response, page),
      doWithout: (target) => isCacheable(request) && cache.answerStored(visit, target),
    })
  }

  /** What is asked of a name that nobody has is nobody's. */
  function count(visit: Visit & { response: CountedResponse }) {
    const environment = findTarget(visit.host)?.environment
    if (environment === undefined) return
    const counted = counts.begin(environment, visit.request.socket, visit.path)
    visit.response.onHead = (status) => counts.answered(counted, status, visit.isHit)
    visit.response.once('close', () => counts.end(counted))
  }

  function countUpgrade(host: string, socket: Socket): (status: number) => void {
    const environment = findTarget(host)?.environment
    if (environment === undefined) return noop
    const counted = counts.begin(environment, socket)
    socket.once('close', () => counts.end(counted))
    return (status) => counts.answered(counted, status, false)
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
    const upgrade = { ...address, request, socket, head, onAnswer: countUpgrade(address.host, socket) }
    route(address.host, socket, request, {
      goOn(target) {
        try {
          answerUpgrade(upgrade, target)
        } catch (error) {
          report(error)
          socket.destroy()
        }
      },
      refuse: (page) => refuse(upgrade, page),
    })
  }

  const findTarget = (host: string | undefined): Routed | undefined =>
    host === undefined ? undefined : routes.get(host)

  /** What the fast lane can answer: all of it stands ready. */
  function peek(request: PlainRequest, socket: Socket): Wire | undefined {
    doing(request.authority)
    const target = findTarget(toHost(request.authority))
    const wire = target && peekAt(target, request, socket)
    if (wire) counts.quick(target.environment, request.target, wire)
    return wire
  }

  function peekAt(target: Routed, request: PlainRequest, socket: Socket): Wire | undefined {
    switch (target.kind) {
      case 'static':
        return statics.peek(target, request)
      case 'server':
      case 'asleep':
      case 'down':
        return cache.peek(target, request, socket)
      default:
        return undefined
    }
  }

  type Ways = {
    goOn(target: Routed | undefined): void
    refuse(page: Page): void
    /** Whether it could be answered without waking anybody. */
    doWithout?(target: Extract<Routed, { kind: 'asleep' }>): boolean
  }

  function route(host: string, visitor: ServerResponse | Socket, request: IncomingMessage, ways: Ways) {
    const target = findTarget(host)
    if (!isWaiting(target)) return ways.goOn(target)
    if (target.kind === 'asleep' && ways.doWithout?.(target)) return
    if (isStopping) return ways.refuse(PAGES.down)
    held.hold({ host, visitor, connection: request.socket, client: forwarded.clientOf(request), ...ways }, target)
  }

  async function answer(visit: Visit, target: Routed | undefined): Promise<void> {
    switch (target?.kind) {
      case 'static':
        visit.isHit = true
        return statics.send(visit, target)
      case 'server':
        if (isCacheable(visit.request)) return cache.answer(visit, target)
        return proxy.forward(visit, target, (status, headers) => {
          if (!SAFE.has(visit.request.method ?? '')) cache.invalidate(visit, target, status, headers)
        })
      case 'down':
        // Better something that is stored, where that is allowed, than nothing.
        if (isCacheable(visit.request) && cache.answerStored(visit, target)) return
        return sendPage(visit.response, PAGES.down)
      case 'redirect':
        visit.isHit = true
        return sendRedirect(visit, target.to)
      default:
        return sendPage(visit.response, pageOf(target))
    }
  }

  function answerUpgrade(upgrade: Upgrade, target: Routed | undefined) {
    if (target?.kind === 'server') return upgrades.forward(upgrade, target)
    // What was asleep a moment ago is something else now, where there is nothing to upgrade to.
    refuse(upgrade, target?.kind === 'static' ? PAGES.badRequest : pageOf(target))
  }

  function refuse({ socket, onAnswer }: Upgrade, page: Page) {
    onAnswer(page.status)
    refuseUpgrade(socket, page)
  }

  function fail(response: ServerResponse, error: unknown) {
    // A client that went away is no fault of ours.
    if (!response.destroyed) report(error)
    sendPage(response, error instanceof UnreadableManifest ? PAGES.unreadable : PAGES.fault)
  }

  return {
    http,
    trust: forwarded.trust,
    countPaths() {
      paths = createPaths()
    },
    useRoutes(next) {
      const before = routes
      routes = next
      // After the switch, never before: until then the old deployment may answer, and its answer be stored.
      cache.useRoutes(before, next)
      const kept = instancesOf(next)
      pools.keepOnly(kept)
      instances.keepOnly(kept)
      statics.useRoutes(next)
      held.useRoutes(next)
    },
    drain: inFlight.drain,
    purge: cache.purge,
    inspect: cache.inspect,
    openCache: cache.open,
    closeCache: cache.close,
    takeActivity: inFlight.takeActivity,
    takeCounts: counts.take,
    stop() {
      isStopping = true
      fastPath?.close()
      held.refuseAll()
      return new Promise((resolve) => {
        // Closing ends the connections that are idle now; those that become so later are ours to end.
        const sweep = setInterval(() => http.closeIdleConnections(), SWEEP_MS)
        http.close(() => {
          clearInterval(sweep)
          resolve()
        })
      })
    },
  }
}

const SWEEP_MS = 50

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** A request that may be answered with what is stored, or whose response may be. */
const isCacheable = (request: IncomingMessage): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && !hasBody(request) && request.headers.expect === undefined

const mayUpgrade = (target: Routed | undefined): boolean => target?.kind === 'server' || isWaiting(target)

function pageOf(target: Routed | undefined): Page {
  if (target?.kind === 'empty') return PAGES.nothingDeployed
  if (target?.kind === 'down') return PAGES.down
  return PAGES.unknownHost
}

function instancesOf(routes: Routes): Set<string> {
  const instances = new Set<string>()
  for (const target of routes.values()) if (target.kind === 'server') instances.add(target.instance)
  return instances
}

/** Nothing moved for a while: is it the client that we wait for? An event stream may be silent as long as it likes. */
function isStalled(request: IncomingMessage, response: ServerResponse): boolean {
  const isSilent = !request.complete && request.readableFlowing === true
  const isDeaf = response.writableLength > 0
  return isSilent || isDeaf
}

function noop() {
  // Errors of a connection are followed by its `close`, which is what counts.
}
