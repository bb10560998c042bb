/**
 * Stands in front of everything that a protected environment answers: files, stored responses, redirects, upgrades, and the
 * wait for a sleeping app. Other visitors get a page of the edge, and wake nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Forwarded } from '../http/forwarded.ts'
import { PAGES, type Page, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import { type Protection, type Routed, toHost } from '../routes.ts'
import { unlockCookie } from './cookie.ts'
import { removeCredentials } from './credentials.ts'
import { decide } from './decide.ts'
import { sendForm, UNLOCK_PATH } from './form.ts'
import { createPasswords } from './passwords.ts'
import { localPath, pathOf, readUnlocking, type UnlockFault } from './unlock.ts'

type Parts = { limits: Limits; forwarded: Forwarded; now(): number }

/** What is protected. */
type Guarded = { environment: string; protection: Protection }

/** A page, and headers for it. */
type Refusal = (page: Page, headers?: Record<string, string>) => void

type Handlers = { goOn(): void; fail(error: unknown): void }

type AskedUpgrade = { request: IncomingMessage; socket: Socket }

type Outcome = { kind: 'allow' | 'ask' | 'wrong' | 'forbidden' } | { kind: 'limited'; retryAfterSeconds: number }

export function createGuard({ limits, forwarded, now }: Parts) {
  const passwords = createPasswords({ limits, now })

  async function examine(request: IncomingMessage, { environment, protection }: Guarded): Promise<Outcome> {
    const { headers } = request
    const verdict = decide(environment, protection, {
      address: forwarded.addressOf(request.socket, (name) => request.headers[name]?.toString()),
      cookies: headers.cookie,
      authorization: headers.authorization,
      nowMs: now(),
    })
    if (verdict.kind !== 'verify') {
      if (verdict.kind === 'allow') removeCredentials(request, { hasUsedBasic: false })
      return verdict
    }
    const { hash = '' } = protection.password ?? {}
    const client = forwarded.clientOf(request)
    const result = await passwords.check({ environment, hash, password: verdict.password, client })
    if (result === 'wrong') return { kind: 'wrong' }
    if (result !== 'right') return { kind: 'limited', ...result }
    removeCredentials(request, { hasUsedBasic: true })
    return { kind: 'allow' }
  }

  /** An app may fetch its own pages: it makes them, so there is nothing to protect. */
  function isOwnApp({ socket }: IncomingMessage, target: Routed | undefined): boolean {
    const address = target?.kind === 'server' ? forwarded.jobAddressOf(socket) : undefined
    if (address === undefined || target?.kind !== 'server') return false
    return [target, ...(target.peers ?? [])].some(({ host }) => host === address)
  }

  /** The form was sent. */
  async function unlock({ request, response, authority }: Visit, { environment, protection }: Guarded) {
    const { password } = protection
    const sent = await readUnlocking(request, response, { authority, limits })
    if (sent === undefined || !password) return
    if (typeof sent === 'string') {
      response.shouldKeepAlive = false
      return sendPage(response, FAULTS[sent])
    }
    const client = forwarded.clientOf(request)
    const result = await passwords.check({ environment, hash: password.hash, password: sent.password, client })
    if (response.destroyed) return
    const form = { host: toHost(authority), to: sent.to }
    if (result === 'wrong') return sendForm(response, { ...form, fault: 'This is not the password. Try again.' })
    if (result !== 'right') {
      const { retryAfterSeconds: seconds } = result
      const fault = `Too many attempts. Try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`
      return sendForm(response, { ...form, fault, status: 429, headers: { 'retry-after': String(seconds) } })
    }
    const isSecure = forwarded.visitorOf(request).protocol === 'https'
    const cookie = unlockCookie({ environment, cookieKey: password.cookieKey }, { nowMs: now(), isSecure })
    sendOn(response, sent.to, { 'set-cookie': cookie })
  }

  function refuse({ kind, ...more }: Exclude<Outcome, { kind: 'allow' }>, request: IncomingMessage, send: Refusal) {
    if (kind === 'forbidden') return send(PAGES.otherAddress)
    if ('retryAfterSeconds' in more)
      return send(PAGES.tooManyAttempts, { 'retry-after': String(more.retryAfterSeconds) })
    // A browser would ask for a user name and a password in a window of its own.
    send(PAGES.locked, isFromBrowser(request) ? {} : { 'www-authenticate': CHALLENGE })
  }

  async function admit(visit: Visit, guarded: Guarded, goOn: () => void): Promise<void> {
    const { request, response, path, authority } = visit
    const isUnlock = guarded.protection.password !== undefined && pathOf(path) === UNLOCK_PATH
    if (isUnlock && request.method === 'POST') return admitForm(visit, guarded)
    const outcome = await examine(request, guarded)
    if (response.destroyed) return
    if (outcome.kind === 'allow') return isUnlock ? sendOn(response, '/') : goOn()
    if (outcome.kind === 'ask' && acceptsPages(request))
      return sendForm(response, { host: toHost(authority), to: localPath(path, limits) })
    refuse(outcome, request, (page, headers) => sendPage(response, page, headers))
  }

  /** The form has its own password, but it is taken from the allowed addresses only. */
  async function admitForm(visit: Visit, guarded: Guarded): Promise<void> {
    const { addresses } = guarded.protection
    const outcome = await examine(visit.request, { ...guarded, protection: addresses ? { addresses } : {} })
    if (outcome.kind === 'allow') return unlock(visit, guarded)
    refuse(outcome, visit.request, (page, headers) => sendPage(visit.response, page, headers))
  }

  async function admitUpgrade(upgrade: AskedUpgrade, guarded: Guarded, goOn: () => void, send: Refusal): Promise<void> {
    const outcome = await examine(upgrade.request, guarded)
    if (upgrade.socket.destroyed) return
    if (outcome.kind === 'allow') return goOn()
    refuse(outcome, upgrade.request, send)
  }

  return {
    /** Calls `goOn` for a visitor who may see the target, and answers all others. */
    admit(visit: Visit, target: Routed | undefined, { goOn, fail }: Handlers): void {
      const guarded = isOwnApp(visit.request, target) ? undefined : guardedOf(target)
      if (guarded) admit(visit, guarded, goOn).catch(fail)
      else goOn()
    },

    /** The same for a connection that asks for another protocol. */
    admitUpgrade(
      upgrade: AskedUpgrade,
      target: Routed | undefined,
      { goOn, refuse, fail }: Handlers & { refuse: Refusal },
    ): void {
      const guarded = isOwnApp(upgrade.request, target) ? undefined : guardedOf(target)
      if (guarded) admitUpgrade(upgrade, guarded, goOn, refuse).catch(fail)
      else goOn()
    },
  }
}

export type Guard = ReturnType<typeof createGuard>

function guardedOf(target: Routed | undefined): Guarded | undefined {
  const protection = target?.access?.protection
  return target && protection && { environment: target.environment, protection }
}

function sendOn(response: ServerResponse, to: string, headers: Record<string, string> = {}) {
  response.writeHead(303, { location: to, 'cache-control': 'no-store', 'content-length': 0, ...headers })
  response.end()
}

const FAULTS: Record<UnlockFault, Page> = {
  'other-site': PAGES.otherSite,
  'not-a-form': PAGES.badRequest,
  'too-large': PAGES.tooLarge,
  'too-slow': PAGES.tooSlow,
}

const CHALLENGE = 'Basic realm="protected site", charset="UTF-8"'

const acceptsPages = ({ headers }: IncomingMessage): boolean =>
  headers.accept?.toLowerCase().includes('text/html') ?? false

/** Scripts and images of a page that is open while its cookie ends ask for no page. */
const isFromBrowser = (request: IncomingMessage): boolean =>
  acceptsPages(request) || request.headers['sec-fetch-mode'] !== undefined
