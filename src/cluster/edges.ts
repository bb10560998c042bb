/** The edges that follow this process: they are sent where instances are, wake apps, and report visits and requests in flight. */
import { type Clock, type Log, repeat } from '../base/index.ts'
import { type Caller, type CallPeer, createCaller } from '../channel/index.ts'
import type { AgentMethodsForEdge, EdgeMethodsForAgent, InstanceReport } from '../edge/index.ts'
import { APP_LINES } from '../runtime/index.ts'
import type { AppLines } from './app-lines.ts'
import type { AppRecords } from './records.ts'
import { type IsConfirmed, reportOf } from './status.ts'
import type { View } from './view.ts'
import type { Visits } from './visits.ts'
import type { Wakes } from './wakes.ts'

type Parts = {
  clock: Clock
  log: Log
  view: View
  records: Pick<AppRecords, 'setBusy'>
  wakes: Wakes
  visits: Visits
  lines: AppLines
  isConfirmed: IsConfirmed
  onVisited?: ((deployments: readonly string[]) => void) | undefined
}

type Edge = {
  caller: Caller<EdgeMethodsForAgent>
  /** Requests in flight by deployment, as it last reported them. */
  load: Readonly<Record<string, number>>
}

/** How often it is recorded that apps which are to end still have requests in flight. */
const BUSY_MS = 1000

export function createClusterEdges(parts: Parts) {
  const { clock, log, view, records, wakes, visits, lines, isConfirmed, onVisited } = parts
  const edges = new Set<Edge>()
  /** What all edges were told last, as text. */
  const told = new Map<string, string>()

  const reportNow = (deployment: string): InstanceReport | null => reportOf(view.of(deployment), isConfirmed)

  function tellChanges(deployments: Iterable<string>) {
    const reports: Record<string, InstanceReport | null> = {}
    for (const deployment of deployments) {
      const report = reportNow(deployment)
      const text = JSON.stringify(report)
      if ((told.get(deployment) ?? 'null') === text) continue
      if (report) told.set(deployment, text)
      else told.delete(deployment)
      reports[deployment] = report
    }
    if (Object.keys(reports).length === 0) return
    for (const { caller } of edges) caller.notify('setInstances', { reports, isWhole: false })
  }

  async function recordBusy() {
    const leaving = [...view.apps()].filter(({ kept }) => kept > 0).map(({ deployment }) => deployment)
    const busy = leaving.filter((deployment) => [...edges].some(({ load }) => (load[deployment] ?? 0) > 0))
    if (busy.length === 0) return
    await records
      .setBusy(busy)
      .catch((error) => log.warn({ err: error }, 'requests in flight to apps that end could not be recorded'))
  }

  const forget = view.onChange(tellChanges)
  const recording = repeat(clock, BUSY_MS, recordBusy)

  return {
    /** Requests in flight at all edges, by deployment. */
    inFlight(): Map<string, number> {
      const sums = new Map<string, number>()
      for (const { load } of edges)
        for (const [deployment, requests] of Object.entries(load))
          if (Number.isSafeInteger(requests)) sums.set(deployment, (sums.get(deployment) ?? 0) + requests)
      return sums
    },

    serve(peer: CallPeer) {
      const methods: AgentMethodsForEdge = {
        wake: (deployment) => void wakes.wake(String(deployment), { mayDisplace: true }),
        activity(deployments) {
          const known = Object.keys(deployments).filter((deployment) => view.of(deployment).app)
          visits.add(known)
          onVisited?.(known)
        },
        load(deployments) {
          edge.load = deployments
        },
        // Apps of a cluster have networks of their nodes.
        listensToJobs: async () => undefined,
        isThere: () => true,
        loopDetected: (deployment) => lines.sayOf(String(deployment), '', APP_LINES.loop),
      }
      const edge: Edge = { caller: createCaller<EdgeMethodsForAgent>(peer, methods), load: {} }
      tellChanges([...view.apps()].map(({ deployment }) => deployment))
      const reports = Object.fromEntries([...told].map(([deployment, text]) => [deployment, JSON.parse(text)]))
      edge.caller.notify('setInstances', { reports, isWhole: true })
      edges.add(edge)
      edge.caller.closed.then(() => edges.delete(edge))
    },
    async stop() {
      forget()
      await recording.stop()
      for (const { caller } of edges) caller.close()
    },
  }
}
