/**
 * Requests that wait for a sleeping app, or for the files of a static site that are not on this machine yet. The first one
 * for a host requests that the deployment is woken, or that its files are fetched; all go on when the host gets another
 * target. They are bounded in time and in number: for each connection, client and environment,
 * and in total. A few requests of each environment may always wait, so that an app that never starts keeps no other one
 * asleep. A request that is refused wakes its deployment as well.
 *
 *   asked       the other process was notified; further requests for this host only wait
 *   (change)    still this deployment → asked; another one that sleeps → asked again; anything else → all go on
 *   (late)      no change in time → the next request asks again, in case the message was lost
 */
import type { EventEmitter } from 'node:events'
import { PAGES, type Page } from '../http/pages.ts'
import type { Limits } from '../limits.ts'
import { createQuota } from '../quota.ts'
import type { RouteChanges } from '../route-table.ts'
import type { Routed, StoredOutput } from '../routes.ts'

export type Waiter = {
  host: string
  /** Emits `close` when the client has gone. */
  visitor: EventEmitter
  /** The connection of the request. */
  connection: object
  /** The client's network address; undefined where it is not known. */
  client: string | undefined
  /** Called with the current target of the host; undefined when it has none. */
  goOn(target: Routed | undefined): void
  refuse(page: Page): void
}

type Waiting = Extract<Routed, { kind: 'asleep' | 'awaited' | 'unfetched' }>
type Host = { askedFor: string | undefined; askedMs: number; waiters: Set<Pending> }
type Pending = Waiter & { leave(): void }

type Parts = { limits: Limits; wake(deployment: string): void; fetchFiles(output: StoredOutput): void }

export function createPendingRequests({ limits, wake, fetchFiles }: Parts) {
  const hosts = new Map<string, Host>()
  const ofEnvironments = createQuota({
    max: limits.pending,
    maxPerOwner: limits.pendingPerEnvironment,
    reserved: limits.pendingReserved,
  })
  const ofClients = new Map<string, number>()
  const ofConnections = new WeakMap<object, number>()

  function ask(host: Host, target: Waiting) {
    // For an `awaited` target the agent reports without being asked.
    const deployment = target.kind === 'awaited' ? undefined : target.deployment
    const nowMs = performance.now()
    if (deployment === host.askedFor && nowMs - host.askedMs < limits.pendingMs) return
    host.askedFor = deployment
    host.askedMs = nowMs
    if (target.kind === 'asleep') wake(target.deployment)
    else if (target.kind === 'unfetched') fetchFiles(target.output)
  }

  function admit({ connection, client }: Waiter, environment: string): boolean {
    const ofConnection = ofConnections.get(connection) ?? 0
    const ofClient = client === undefined ? 0 : (ofClients.get(client) ?? 0)
    if (ofConnection >= limits.pendingPerConnection) return false
    // The reserved places of an environment ignore the limit per client: many visitors may share one address.
    if (ofClient >= limits.pendingPerClient && ofEnvironments.of(environment) >= limits.pendingReserved) return false
    if (!ofEnvironments.take(environment)) return false
    ofConnections.set(connection, ofConnection + 1)
    if (client !== undefined) ofClients.set(client, ofClient + 1)
    return true
  }

  function dismiss({ connection, client }: Waiter, environment: string) {
    ofEnvironments.giveBack(environment)
    ofConnections.set(connection, (ofConnections.get(connection) ?? 1) - 1)
    if (client === undefined) return
    const left = (ofClients.get(client) ?? 1) - 1
    if (left > 0) ofClients.set(client, left)
    else ofClients.delete(client)
  }

  return {
    add(waiter: Waiter, target: Waiting) {
      const host: Host = hosts.get(waiter.host) ?? { askedFor: undefined, askedMs: 0, waiters: new Set() }
      hosts.set(waiter.host, host)
      ask(host, target)
      if (!admit(waiter, target.environment)) return waiter.refuse(PAGES.busy)
      const request: Pending = { ...waiter, leave }
      const timeout = setTimeout(() => {
        leave()
        host.askedFor = undefined
        waiter.refuse(target.kind === 'unfetched' ? PAGES.filesMissing : PAGES.late)
      }, limits.pendingMs)
      waiter.visitor.once('close', leave)
      host.waiters.add(request)

      function leave() {
        if (!host.waiters.delete(request)) return
        clearTimeout(timeout)
        waiter.visitor.removeListener('close', leave)
        dismiss(waiter, target.environment)
      }
    },

    changeRoutes(changes: RouteChanges) {
      for (const [name, target] of changes) {
        const host = hosts.get(name)
        if (!host) continue
        if (isWaiting(target)) {
          if (host.waiters.size > 0) ask(host, target)
          else if (target.kind === 'awaited' || target.deployment !== host.askedFor) hosts.delete(name)
          continue
        }
        hosts.delete(name)
        for (const request of [...host.waiters]) {
          request.leave()
          request.goOn(target)
        }
      }
    },

    /** The edge is stopping: no app will be woken. */
    refuseAll() {
      for (const { waiters } of hosts.values()) {
        for (const request of [...waiters]) {
          request.leave()
          request.refuse(PAGES.down)
        }
      }
      hosts.clear()
    },
  }
}

export type PendingRequests = ReturnType<typeof createPendingRequests>

export const isWaiting = (target: Routed | undefined): target is Waiting =>
  target?.kind === 'asleep' || target?.kind === 'awaited' || target?.kind === 'unfetched'
