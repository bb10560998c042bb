/** Metrics for Prometheus. Labels never name a tenant: routes are patterns, and figures are totals. */
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

type Gauges = {
  /** The version of this package when the process started. */
  version: string
  operationsUnfinished(): Promise<number>
  operationsRunning(): number
  edgeServing(): boolean
  diskUsage(): Promise<{ kind: string; bytes: number }[]>
  diskFree(): Promise<number>
  isLeading(): boolean
  /** As far as this process knows; 0 if it does not. */
  leaderTerm(): number
}

export function createMetrics(gauges: Gauges) {
  const { version, operationsUnfinished, operationsRunning, edgeServing, diskUsage, diskFree, isLeading, leaderTerm } =
    gauges
  const registers = [new Registry()]
  const registry = registers[0] as Registry
  collectDefaultMetrics({ register: registry })

  const requests = new Histogram({
    name: 'headland_api_request_seconds',
    help: 'Time from the request line to the end of the reply, by route.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers,
  })
  new Gauge({
    name: 'headland_build_info',
    help: 'Always 1; the label is the version that runs.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1)
  new Gauge({
    name: 'headland_operations_unfinished',
    help: 'Operations that were asked for and have not ended.',
    registers,
    async collect() {
      this.set(await operationsUnfinished())
    },
  })
  new Gauge({
    name: 'headland_operations_running',
    help: 'Operations that this process works on now.',
    registers,
    collect() {
      this.set(operationsRunning())
    },
  })
  new Gauge({
    name: 'headland_edge_serving',
    help: '1 while the edge process listens.',
    registers,
    collect() {
      this.set(edgeServing() ? 1 : 0)
    },
  })
  new Gauge({
    name: 'headland_leader',
    help: '1 while this process does what one of several control processes does alone.',
    registers,
    collect() {
      this.set(isLeading() ? 1 : 0)
    },
  })
  new Gauge({
    name: 'headland_leader_term',
    help: 'The term of the leader that this process knows of: it rises with each new leader.',
    registers,
    collect() {
      this.set(leaderTerm())
    },
  })

  new Gauge({
    name: 'headland_disk_bytes',
    help: 'What is kept on the disk, by kind; caches, logs and runs as they were last measured.',
    labelNames: ['kind'],
    registers,
    async collect() {
      for (const { kind, bytes } of await diskUsage()) this.set({ kind: kind.toLowerCase() }, bytes)
    },
  })
  new Gauge({
    name: 'headland_disk_free_bytes',
    help: 'Free space on the disk of the data folder.',
    registers,
    async collect() {
      this.set(await diskFree())
    },
  })

  const stalls = new Histogram({
    name: 'headland_stall_seconds',
    help: 'How long an event loop was blocked, if 50 ms or more; all other work of the process waits meanwhile.',
    labelNames: ['process'],
    buckets: [0.1, 0.25, 0.5, 1, 2, 5, 10, 30],
    registers,
  })
  const longestStall = new Gauge({
    name: 'headland_stall_longest_seconds',
    help: 'The longest stall of an event loop since the service was started.',
    labelNames: ['process'],
    registers,
  })
  const publishes = new Histogram({
    name: 'headland_publish_seconds',
    help: 'Time from the first call for a publish until every edge had it (visible), or until its first visit (visited); by the leader.',
    labelNames: ['kind', 'until'],
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800],
    registers,
  })
  const longest = { control: 0, edge: 0 }
  for (const process of ['control', 'edge']) {
    stalls.zero({ process })
    longestStall.set({ process }, 0)
  }

  /** Routes and statuses are few: looking the labels up for each request would cost more than counting. */
  const known = new Map<string, ReturnType<typeof requests.labels>>()

  return {
    observeRequest(method: string, route: string, status: number, ms: number) {
      const key = `${method} ${route} ${status}`
      let series = known.get(key)
      if (!series) {
        series = requests.labels(method, route, String(status))
        known.set(key, series)
      }
      series.observe(ms / 1000)
    },
    observeStall(process: 'control' | 'edge', ms: number) {
      stalls.observe({ process }, ms / 1000)
      longest[process] = Math.max(longest[process], ms)
      longestStall.set({ process }, longest[process] / 1000)
    },
    observePublish(kind: 'build' | 'purge', until: 'visible' | 'visited', ms: number) {
      publishes.observe({ kind, until }, ms / 1000)
    },
    contentType: registry.contentType,
    text: () => registry.metrics(),
  }
}

export type Metrics = ReturnType<typeof createMetrics>
