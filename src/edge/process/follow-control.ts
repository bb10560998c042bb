/** An edge's side of its connection to a control process, one of several perhaps: routes and purges come in, traffic goes out. */
import {
  type Caller,
  createCaller,
  type Frame,
  followPeer,
  type Greeting,
  type PeerAddress,
} from '../../channel/index.ts'
import { doing } from '../../watchdog/index.ts'
import type { RouteTable } from '../route-table.ts'
import type { EdgeServer } from '../server.ts'
import type { FollowedFiles } from './follow-files.ts'
import { LEASE_MS, type Lease, RENEW_MS } from './lease.ts'
import type { ControlMethodsForEdge, EdgeMethodsForControl } from './messages.ts'
import type { SavedCertificates } from './saved-certificates.ts'
import type { SavedRoutes } from './saved-routes.ts'

type Parts = {
  addresses: readonly PeerAddress[]
  greeting: Greeting
  edge: Pick<
    EdgeServer,
    'secure' | 'changeRoutes' | 'forgetOthers' | 'purge' | 'purgeEverything' | 'appliedPurge' | 'inspect'
  >
  table: RouteTable
  saved: SavedRoutes
  savedCertificates: SavedCertificates
  lease: Lease
  /** Where files of static sites are brought to this machine. */
  files?: Pick<FollowedFiles, 'untilUsed'> | undefined
  isGone(process: string): boolean
  report(error: unknown): void
}

export function followControl(parts: Parts) {
  const { addresses, greeting, edge, table, saved, savedCertificates, lease, files, isGone, report } = parts
  let control: Caller<ControlMethodsForEdge> | undefined
  let revision: number | null = null
  /** Messages whose routes are not all in use yet, each with the revision before it. */
  const waiting = new Set<{ before: number | null }>()
  let refusals = 0
  const begun = Promise.withResolvers<void>()

  const methods: EdgeMethodsForControl = {
    revision() {
      const [first] = waiting
      return first ? first.before : revision
    },
    async setRoutes({ routes, isWhole, revision: of }) {
      doing('routes')
      edge.changeRoutes(isWhole ? table.setAllRoutes(routes) : table.setRoutes(routes))
      if (isWhole) edge.forgetOthers()
      const message = { before: revision }
      revision = of
      const used = files?.untilUsed(routes.map(({ environment }) => environment))
      if (used) waiting.add(message)
      // Confirmed when a restart begins with them, too. A full disk does not keep visitors from what is new.
      await (isWhole ? saved.replace(routes) : saved.change(routes, table)).catch(report)
      // Messages that come meanwhile are not held up.
      await used
      waiting.delete(message)
      // Its lease begins with the first routes of a connection, after their confirmation.
      if (!lease.isCurrent()) setImmediate(renew)
    },
    purge({ number, purge }) {
      doing('purge')
      if (!edge.purge(purge, number)) throw new Error('the purge would not hold after a restart')
    },
    setCertificates({ set, removed, isWhole, ticketSecret }) {
      const { secure } = edge
      const kept = new Set(set.map(({ id }) => id))
      const others = secure.certificates().flatMap(({ id }) => (kept.has(id) ? [] : id))
      secure.changeCertificates({ set, removed: isWhole ? others : removed })
      secure.setTicketSecret(Buffer.from(ticketSecret, 'base64'))
      savedCertificates.save(secure.certificates()).catch(report)
    },
    setChallenges: (challenges) => edge.secure.setChallenges(challenges),
    inspect: ({ environment, url }) => edge.inspect(environment, url),
    isGone,
  }

  /** Without an answer, and where a purge could not be applied, the lease runs out. */
  async function renew() {
    const sentTime = lease.now()
    const missed = await control?.call('renew', edge.appliedPurge()).catch(() => undefined)
    if (!missed) return
    const isApplied =
      'purges' in missed
        ? missed.purges.every(({ number, purge }) => edge.purge(purge, number))
        : edge.purgeEverything(missed.everythingUntil)
    if (isApplied) lease.renewed(sentTime, missed.leaseMs ?? LEASE_MS)
    if (isApplied) begun.resolve()
    // A purge of another control process may be waiting for it.
    if (isApplied && 'purges' in missed && missed.purges.length > 0) setImmediate(renew)
  }

  const following = followPeer<Frame, Frame>({
    addresses,
    greeting,
    async onPeer(peer) {
      const opened = createCaller<ControlMethodsForEdge>(peer, methods)
      control = opened
      void renew()
      const renewals = setInterval(renew, RENEW_MS)
      await opened.closed
      clearInterval(renewals)
      if (control === opened) control = undefined
    },
    onRefused() {
      refusals += 1
      if (refusals >= addresses.length) begun.resolve()
    },
  })

  return {
    notify: ((method, argument) => control?.notify(method, argument)) as Caller<ControlMethodsForEdge>['notify'],
    /** Resolves with the first lease, and thus with the routes of now; also if there is no control process to wait for. */
    begun: begun.promise,
    isConnected: (): boolean => control !== undefined,
    /** Resolves to whether they were received. */
    async sendRequests(records: Parameters<ControlMethodsForEdge['requests']>[0]): Promise<boolean> {
      if (!control) return false
      return control.call('requests', records).then(
        () => true,
        () => false,
      )
    },
    /** The last that this edge has counted, after it has answered its last visitor. Resolves when it was received, or there is no control process. */
    async leave(environments: Parameters<ControlMethodsForEdge['traffic']>[0]) {
      await control?.call('traffic', environments).catch(() => undefined)
      // Without an answer, the end of its lease is waited for.
      await control?.call('leave', null).catch(() => undefined)
    },
    stop: following.stop,
  }
}
