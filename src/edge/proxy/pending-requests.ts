/**
 * Requests that wait for a process. The first one for a host asks for the deployment to be woken; all go on as soon as a
 * table comes in which the host leads somewhere else. They are bounded in time, and in number: for each connection, client
 * and environment first, and for all of them second. An environment for which few wait is always waited for, so that one
 * whose app never comes up keeps nobody else's down. Also a request that is refused wakes what it asked for.
 *
 *   asked       the control plane was told; more requests for this host only wait
 *   (table)     still this deployment → asked; another one that sleeps → asked again; anything else → all go on
 *   (late)      nobody answered in time → the next request asks again, in case the asking was lost
 */
import type { EventEmitter } from 'node:events'
import { PAGES, type Page } from '../http/pages.ts'
import type { Limits } from '../limits.ts'
import { createQuota } from '../quota.ts'
import type { Routed, Routes } from '../routes.ts'

export type Waiter = {
  host: string
  /** Emits `close` when the client has gone. */
  visitor: EventEmitter
  /** The connection that it came by. */
  connection: object
  /** Whose request it is, by address; undefined where nobody can tell. */
  client: string | undefined
  /** Called with what the host leads to now; undefined when it leads nowhere. */
  goOn(target: Routed | undefined): void
  refuse(page: Page): void
}

type Waiting = Extract<Routed, { kind: 'asleep' | 'awaited' }>
type Host = { askedFor: string | undefined; askedMs: number; waiters: Set<Held> }
type Held = Waiter & { leave(): void }

export function createPendingRequests({ limits, wake }: { limits: Limits; wake(deployment: string): void }) {
  const hosts = new Map<string, Host>()
  const ofEnvironments = createQuota({
    max: limits.held,
    maxPerOwner: limits.pendingPerEnvironment,
    reserved: limits.pendingReserved,
  })
  const ofClients = new Map<string, number>()
  const ofConnections = new WeakMap<object, number>()

  function ask(host: Host, target: Waiting) {
    // An awaited one needs no asking: the table that tells what it is comes by itself.
    const deployment = target.kind === 'asleep' ? target.deployment : undefined
    const nowMs = performance.now()
    if (deployment === host.askedFor && nowMs - host.askedMs < limits.pendingMs) return
    host.askedFor = deployment
    host.askedMs = nowMs
    if (deployment !== undefined) wake(deployment)
  }

  function admit({ connection, client }: Waiter, environment: string): boolean {
    const ofConnection = ofConnections.get(connection) ?? 0
    const ofClient = client === undefined ? 0 : (ofClients.get(client) ?? 0)
    if (ofConnection >= limits.pendingPerConnection) return false
    // What is reserved is there for whoever comes: a neighbour of somebody greedy may share its address.
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
    hold(waiter: Waiter, target: Waiting) {
      const host: Host = hosts.get(waiter.host) ?? { askedFor: undefined, askedMs: 0, waiters: new Set() }
      hosts.set(waiter.host, host)
      ask(host, target)
      if (!admit(waiter, target.environment)) return waiter.refuse(PAGES.busy)
      const held: Held = { ...waiter, leave }
      const timeout = setTimeout(() => {
        leave()
        host.askedFor = undefined
        waiter.refuse(PAGES.late)
      }, limits.pendingMs)
      waiter.visitor.once('close', leave)
      host.waiters.add(held)

      function leave() {
        if (!host.waiters.delete(held)) return
        clearTimeout(timeout)
        waiter.visitor.removeListener('close', leave)
        dismiss(waiter, target.environment)
      }
    },

    /** A new table is in use. */
    useRoutes(routes: Routes) {
      for (const [name, host] of hosts) {
        const target = routes.get(name)
        if (isWaiting(target)) {
          if (host.waiters.size > 0) ask(host, target)
          else if (target.kind === 'awaited' || target.deployment !== host.askedFor) hosts.delete(name)
          continue
        }
        hosts.delete(name)
        for (const held of [...host.waiters]) {
          held.leave()
          held.goOn(target)
        }
      }
    },

    /** The edge is stopping: nobody will be woken. */
    refuseAll() {
      for (const { waiters } of hosts.values()) {
        for (const held of [...waiters]) {
          held.leave()
          held.refuse(PAGES.down)
        }
      }
      hosts.clear()
    },
  }
}

export const isWaiting = (target: Routed | undefined): target is Waiting =>
  target?.kind === 'asleep' || target?.kind === 'awaited'
