/** Answers visitors: finds the target by host name, holds the request where the target sleeps, and hands it over. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Inspection, Purge } from './cache/index.ts'
import { createForwarded } from './forwarded.ts'
import { createHeld, isWaiting } from './held.ts'
import { createInFlight } from './in-flight.ts'
import { LIMITS, type Limits } from './limits.ts'
import { PAGES, type Page, sendPage } from './pages.ts'
import { createPools } from './pools.ts'
import { createProxy } from './proxy.ts'
import { NO_ROUTES, type Routed, type Routes } from './routes.ts'
import { createStatics } from './static.ts'
import { createUpgrades, isUpgradable, refuseUpgrade, type Upgrade } from './upgrade.ts'
import { readAddress, type Visit } from './visit.ts'

export type EdgeServer = {
  http: Server
  useRoutes(routes: Routes): void
  /** Whose word about a visitor counts: the addresses of proxies in front of us. */
  trust(proxies: readonly string[]): void
  /** Resolves when no request of the instance is in flight; after the time, those that are left are broken off. */
  drain(instance: string, graceMs: number): Promise<void>
  /** Resolves when no request that comes from now on is answered with what is to go. */
  purge(purge: Purge): Promise<void>
  inspect(environment: string, url: string): Inspection
  /** Requests to instances since the last call, by deployment; undefined when there were none. */
  takeActivity(): Record<string, number> | undefined
  /** Takes no new connection, lets requests end, and resolves when the last connection is closed. */
  stop(): Promise<void>
}

type Parts = {
  limits?: Limits
  /** A request is held for a deployment that sleeps. */
  wake?(deployment: string): void
  /** A fault that is ours: the visitor got a page that says nothing of it. */
  report?(error: unknown): void
}

export function createEdgeServer({ limits = LIMITS, wake = noop, report = noop }: Parts = {}): EdgeServer {
  const forwarded = createForwarded()
  const inFlight = createInFlight()
  const pools = createPools(limits)
  const statics = createStatics({ limits })
  const proxy = createProxy({ limits, inFlight, pools, forwarded })
  const upgrades = createUpgrades({ limits, inFlight, pools, forwarded })
  const held = createHeld({ limits, wake })
  let routes = NO_ROUTES
  let isStopping = false

  const http = createServer({
    keepAliveTimeout: 65_000,
    headersTimeout: 20_000,
    // An upload may take as long as it moves: `stalledClientMs` ends one that does not.
    requestTimeout: 0,
    maxHeaderSize: limits.requestHeaderBytes,
    // Most requests have no body, and need no stream for it.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: (request) => mayUpgrade(findTarget(readAddress(request)?.host)) && isUpgradable(request),
  })
  http.timeout = limits.stalledClientMs
  http.on('request', receive)
  // Whether to go on with the body is for the upstream to say: the proxy asks it.
  http.on('checkContinue', receive)
  http.on('upgrade', receiveUpgrade)
  http.on('clientError', refuseMalformed)

  function receive(request: IncomingMessage, response: ServerResponse) {
    response.on('error', noop)
    response.on('timeout', (socket: Socket) => {
      if (isStalled(request, response)) socket.destroy()
    })
    if (isStopping) response.shouldKeepAlive = false
    const address = readAddress(request)
    if (!address) return sendPage(response, PAGES.badRequest)
    const visit = { ...address, request, response }
    route(address.host, response, {
      goOn: (target) => answer(visit, target).catch((error) => fail(response, error)),
      refuse: (page) => sendPage(response, page),
    })
  }

  function receiveUpgrade(request: IncomingMessage, stream: NodeJS.WritableStream, head: Buffer) {
    const socket = stream as Socket
    socket.on('error', noop)
    socket.setTimeout(0)
    const address = readAddress(request)
    if (!address) return refuseUpgrade(socket, PAGES.badRequest)
    const upgrade = { ...address, request, socket, head }
    route(address.host, socket, {
      goOn(target) {
        try {
          answerUpgrade(upgrade, target)
        } catch (error) {
          report(error)
          socket.destroy()
        }
      },
      refuse: (page) => refuseUpgrade(socket, page),
    })
  }

  const findTarget = (host: string | undefined): Routed | undefined =>
    host === undefined ? undefined : routes.get(host)

  type Ways = { goOn(target: Routed | undefined): void; refuse(page: Page): void }

  function route(host: string, client: ServerResponse | Socket, ways: Ways) {
    const target = findTarget(host)
    if (!isWaiting(target)) return ways.goOn(target)
    if (isStopping) return ways.refuse(PAGES.down)
    held.hold({ host, client, ...ways }, target)
  }

  /** The target is found, and what follows is fetched from it: a shared cache has its place in between, here. */
  async function answer(visit: Visit, target: Routed | undefined): Promise<void> {
    switch (target?.kind) {
      case 'static':
        return statics.send(visit, target)
      case 'server':
        return proxy.forward(visit, target)
      default:
        return sendPage(visit.response, pageOf(target))
    }
  }

  function answerUpgrade(upgrade: Upgrade, target: Routed | undefined) {
    if (target?.kind === 'server') return upgrades.forward(upgrade, target)
    // What was asleep a moment ago is something else now, where there is nothing to upgrade to.
    refuseUpgrade(upgrade.socket, target?.kind === 'static' ? PAGES.badRequest : pageOf(target))
  }

  function fail(response: ServerResponse, error: unknown) {
    // A client that went away is no fault of ours.
    if (!response.destroyed) report(error)
    sendPage(response, PAGES.fault)
  }

  return {
    http,
    trust: forwarded.trust,
    useRoutes(next) {
      routes = next
      pools.keepOnly(instancesOf(next))
      held.useRoutes(next)
    },
    drain: inFlight.drain,
    async purge() {},
    inspect: () => ({ stored: [], lastPurge: null }),
    takeActivity: inFlight.takeActivity,
    stop() {
      isStopping = true
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

const STATUS_LINES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

function refuseMalformed(error: NodeJS.ErrnoException, stream: NodeJS.WritableStream) {
  const socket = stream as Socket
  socket.on('error', noop)
  // Once something was sent, what is written now could be taken for a part of it.
  if (!socket.writable || socket.bytesWritten > 0) return void socket.destroy()
  const line = STATUS_LINES[error.code ?? ''] ?? '400 Bad Request'
  socket.write(`HTTP/1.1 ${line}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
  socket.destroySoon()
}

function noop() {
  // Errors of a connection are followed by its `close`, which is what counts.
}
