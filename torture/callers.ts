/**
 * Callers from outside: a CMS that calls webhooks, and visitors. And a watcher that polls operations until they are
 * done.
 */
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { targetOf } from '../test/support/service/webhooks.ts'
import { readMarks } from './archives.ts'
import { type Journal, now } from './journal.ts'
import type { EditorAct, VisitAct } from './plan.ts'
import type { System } from './system.ts'
import type { Tenant } from './tenant.ts'

const ACTION = { rebuild: 'rebuild', cleanRebuild: 'cleanRebuild', purgeCache: 'purge' } as const

type EditorParts = { system: System; tenant: Tenant; next: () => EditorAct; count(kind: string): void }

export async function runEditor({ system, tenant, next, count }: EditorParts, signal: AbortSignal) {
  while (!signal.aborted) {
    const { kind, slot: number, calls, pauseMs } = next()
    const { environment: about, hooks } = tenant.slot(number)
    if (hooks) {
      count(`webhook ${kind}`)
      const given = { kind: ACTION[kind], about, ...(kind === 'purgeCache' ? { purge: {} } : {}) }
      await Promise.all(Array.from({ length: calls }, () => tenant.act(given, targetOf(hooks[kind]), { by: 'cms' })))
    }
    await wait(pauseMs * system.pace, undefined, { signal }).catch(() => undefined)
  }
}

type VisitorParts = { system: System; tenants: readonly Tenant[]; journal: Journal; next: () => VisitAct }

const VISIT_TIMEOUT_MS = 40_000

export async function runVisitor({ system, tenants, journal, next }: VisitorParts, signal: AbortSignal) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  while (!signal.aborted) {
    const { account, slot, path, pauseMs } = next()
    const { environment, url } = tenants[account]?.slot(slot) ?? { environment: '', url: '' }
    if (url && !system.isQuiet(slot)) await visit(system, journal, { environment, url, path }, agent)
    await wait(pauseMs, undefined, { signal }).catch(() => undefined)
  }
  agent.destroy()
}

type Site = { environment: string; url: string; path: string; edge?: number }

/** Requests a page and records the response. A broken connection says nothing about the page, and is not recorded. */
export function visit(
  system: Pick<System, 'edges' | 'nextEdge'>,
  journal: Journal,
  { environment, url, path, edge = system.nextEdge() }: Site,
  agent: Agent | false = false,
): Promise<{ status: number; marks: ReturnType<typeof readMarks> }> {
  const { hostname, port } = new URL(system.edges()[edge] as string)
  const asked = { host: hostname, port, path, agent, headers: { host: new URL(url).host }, timeout: VISIT_TIMEOUT_MS }
  const begun = now()
  return new Promise((resolve) => {
    const nothing = () => resolve({ status: 0, marks: undefined })
    const sent = request(asked, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('error', nothing)
      response.on('end', () => {
        const status = response.statusCode ?? 0
        const marks = status === 200 ? readMarks(text) : undefined
        const cacheStatus = String(response.headers['cache-status'] ?? '')
        journal.visit({ environment, edge, path, begun, ended: now(), status, marks, cacheStatus })
        resolve({ status, marks })
      })
    })
    sent.on('timeout', () => sent.destroy())
    sent.on('error', nothing)
    sent.end()
  })
}

const LOOK_MS = 40

type WatcherParts = { system: System; tenant: Tenant; journal: Journal }

/** Polls every acknowledged operation of an account until it is done. */
export async function runWatcher({ system, tenant: { account }, journal }: WatcherParts, signal: AbortSignal) {
  while (!signal.aborted) {
    for (const operation of unfinishedOf(journal, account)) {
      if (signal.aborted) return
      await look(system, journal, account, operation)
      await wait(LOOK_MS)
    }
    await wait(LOOK_MS)
  }
}

export function unfinishedOf({ records }: Journal, account: string): string[] {
  const own = records.calls.filter((call) => call.account === account && call.outcome === 'acknowledged')
  return [...new Set(own.map(({ operation }) => operation))].filter((name) => name !== '' && !records.ended.has(name))
}

/** The current state of an operation; undefined if it is not known (any more), or the service does not answer. */
export async function look(system: System, journal: Journal, account: string, operation: string) {
  const { json, status, reason } = await system.call(account, `/v1/${operation}`)
  if (status === 404) journal.end(operation, reason)
  if (status !== 200) return { status, found: undefined }
  const error: string | undefined = json.error ? (json.error.details?.[0]?.reason ?? json.error.status) : undefined
  if (json.done) journal.end(operation, error)
  return { status, found: { isDone: json.done as boolean, error } }
}
