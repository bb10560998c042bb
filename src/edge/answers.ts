/**
 * Answers a request according to the target of its host name: a static file, the cache, the app, or a page of the edge.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { EdgeCache } from './cache/index.ts'
import type { PlainRequest } from './fast-path/request.ts'
import { hasBody } from './http/headers.ts'
import { PAGES, type Page, sendPage } from './http/pages.ts'
import { sendRedirect } from './http/redirect.ts'
import type { ReadResponse, ReadVisit, Visit } from './http/visit.ts'
import type { Wire } from './http/wire.ts'
import type { RequestProxy } from './proxy/proxy.ts'
import { refuseUpgrade, type Upgrade, type Upgrades } from './proxy/upgrade.ts'
import type { Routed } from './routes.ts'
import { UnreadableManifest } from './static/manifest-file.ts'
import type { Statics } from './static/static.ts'

type Parts = {
  statics: Statics
  cache: EdgeCache
  proxy: RequestProxy
  upgrades: Upgrades
  report(error: unknown): void
}

export function createAnswers({ statics, cache, proxy, upgrades, report }: Parts) {
  function refuse({ socket, onAnswer, changeHeaders }: Upgrade, page: Page, headers?: Record<string, string>) {
    onAnswer(page.status)
    refuseUpgrade(socket, page, { ...(headers ? { headers } : {}), changeHeaders })
  }

  function failUpgrade({ socket }: Upgrade, error: unknown) {
    report(error)
    socket.destroy()
  }

  function fail(response: ReadResponse, error: unknown) {
    // A client that disconnected is no fault of ours.
    if (!response.destroyed) report(error)
    sendPage(response, error instanceof UnreadableManifest ? PAGES.unreadable : PAGES.fault)
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
        // A stored response, where that is allowed, is better than an error page.
        if (isCacheable(visit.request) && cache.answerStored(visit, target)) return
        return sendPage(visit.response, PAGES.down)
      case 'unavailable':
        return sendPage(visit.response, PAGES.filesMissing)
      case 'redirect':
        visit.isHit = true
        return sendRedirect(visit, target.to)
      default:
        return sendPage(visit.response, pageOf(target))
    }
  }

  return {
    /** For the fast path: the complete response, if it is in memory. */
    peek(target: Routed, request: PlainRequest, socket: Socket): Wire | undefined {
      switch (target.kind) {
        case 'static':
          return statics.peek(target, request)
        case 'server':
        case 'asleep':
        case 'awaited':
        case 'down':
          return cache.peek(target, request, socket)
        default:
          return undefined
      }
    },

    /** A fault of the edge leads to a page. */
    answerOrFail(visit: Visit, target: Routed | undefined) {
      answer(visit, target).catch((error) => fail(visit.response, error))
    },

    /** The same for a plain request to an app. */
    fetchOrFail(visit: ReadVisit, target: Routed | undefined) {
      try {
        if (target?.kind === 'server') cache.answer(visit, target)
        else sendPage(visit.response, pageOf(target))
      } catch (error) {
        fail(visit.response, error)
      }
    },

    /** Whether a file of an earlier deployment may answer, which is looked up first. */
    mayBeEarlier: (path: string, target: Routed): boolean => statics.mayBeEarlier({ path }, target),

    /**
     * Answers with a file that an earlier deployment of a server left. Where there is none, the request goes on. The
     * file is looked up before the server is asked, or woken: the index has no file of the live deployment. A static
     * site is asked for its own file first.
     */
    unlessEarlierFile(visit: Visit, target: Routed | undefined, goOn: () => void) {
      const mayBe = target && target.kind !== 'static' && statics.mayBeEarlier(visit, target)
      if (!mayBe || !isCacheable(visit.request)) return goOn()
      statics
        .sendEarlier(visit, target)
        .then((isSent) => isSent || visit.response.destroyed || goOn())
        .catch((error) => fail(visit.response, error))
    },

    /** Whether a stored response answers the request, so that the app need not be woken. */
    answerWithoutInstance: (visit: Visit, target: Extract<Routed, { kind: 'asleep' | 'awaited' }>): boolean =>
      isCacheable(visit.request) && cache.answerStored(visit, target),

    answerUpgrade(upgrade: Upgrade, target: Routed | undefined) {
      try {
        if (target?.kind === 'server') return upgrades.forward(upgrade, target)
        // The target was asleep when the upgrade was requested, and has changed to one that cannot be upgraded to.
        refuse(upgrade, target?.kind === 'static' ? PAGES.badRequest : pageOf(target))
      } catch (error) {
        failUpgrade(upgrade, error)
      }
    },

    refuse,
    failUpgrade,

    fail,
  }
}

export type Answers = ReturnType<typeof createAnswers>

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** A request that a stored response may answer, or whose response may be stored. */
const isCacheable = (request: IncomingMessage): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && !hasBody(request) && request.headers.expect === undefined

function pageOf(target: Routed | undefined): Page {
  if (target?.kind === 'empty') return PAGES.nothingDeployed
  if (target?.kind === 'down') return PAGES.down
  if (target?.kind === 'unavailable') return PAGES.filesMissing
  return PAGES.unknownHost
}
