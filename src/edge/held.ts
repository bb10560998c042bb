/**
 * Requests that wait for a process. The first one for a host asks for the deployment to be woken; all go on as soon as a
 * table comes in which the host leads somewhere else. They are bounded in number and in time.
 *
 *   asked       the control plane was told; more requests for this host only wait
 *   (table)     still this deployment → asked; another one that sleeps → asked again; anything else → all go on
 *   (late)      nobody answered in time → the next request asks again, in case the asking was lost
 */
import type { EventEmitter } from 'node:events'
import type { Limits } from './limits.ts'
import { PAGES, type Page } from './pages.ts'
import type { Routed, Routes } from './routes.ts'

export type Waiter = {
  host: string
  /** Emits `close` when the client has gone. */
  client: EventEmitter
  /** Called with what the host leads to now; undefined when it leads nowhere. */
  goOn(target: Routed | undefined): void
  refuse(page: Page): void
}

type Waiting = Extract<Routed, { kind: 'asleep' | 'awaited' }>
type Host = { askedFor: string | undefined; waiters: Set<Held> }
type Held = Waiter & { leave(): void }

export function createHeld({ limits, wake }: { limits: Limits; wake(deployment: string): void }) {
  const hosts = new Map<string, Host>()
  let count = 0

  function ask(host: Host, target: Waiting) {
    // An awaited one needs no asking: the table that tells what it is comes by itself.
    const deployment = target.kind === 'asleep' ? target.deployment : undefined
    if (deployment === host.askedFor) return
    host.askedFor = deployment
    if (deployment !== undefined) wake(deployment)
  }

  return {
    hold(waiter: Waiter, target: Waiting) {
      if (count >= limits.held) return waiter.refuse(PAGES.busy)
      const host: Host = hosts.get(waiter.host) ?? { askedFor: undefined, waiters: new Set() }
      hosts.set(waiter.host, host)
      const held: Held = { ...waiter, leave }
      const patience = setTimeout(() => {
        leave()
        host.askedFor = undefined
        waiter.refuse(PAGES.late)
      }, limits.heldMs)
      waiter.client.once('close', leave)
      host.waiters.add(held)
      count++

      function leave() {
        if (!host.waiters.delete(held)) return
        clearTimeout(patience)
        waiter.client.removeListener('close', leave)
        count--
      }
      ask(host, target)
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
