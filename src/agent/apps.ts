/**
 * The apps of the machine, as the agent keeps them: from data that the control process has sent, so that an app can be started
 * again while that process is away.
 */
import { access } from 'node:fs/promises'
import type { Clock, Log } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import {
  APP_LINES,
  type AppOutput,
  deploymentOf,
  type HandedOver,
  type Instance,
  type InstanceRecord,
  type InstanceSpec,
  isOverDisk,
  type Supervisor,
  type Tools,
} from '../runtime/index.ts'
import type { LineLog, LineLogs } from '../storage/index.ts'
import { createForwardedLog, type ForwardedLog, withOutput } from './app-log.ts'
import type { HandedOverApp } from './messages.ts'
import type { Predecessor } from './predecessor.ts'
import { createReplicas, furtherSpec } from './replicas.ts'

type Parts = {
  clock: Clock
  log: Log
  supervisor: Supervisor
  logs: Pick<LineLogs, 'create'>
  /** Asks the control process, and waits for one. */
  toolsOf(deployment: string): Promise<Tools>
  /** Everything that the app had written was removed. Resolves when that is recorded. */
  onReset(deployment: string): Promise<void>
  /** Lets the requests in flight to an instance end at every edge. */
  drain(instance: string): Promise<void>
  /** The requests that edges have in flight to a deployment. */
  inFlight(deployment: string): number
}

/** A control process that is connected, or was. */
export type Session = { isOpen: boolean }

/** How long instances that were retired may drain before the others are handed over. */
const DRAIN_MS = 35_000

type HandOver = {
  hold(instance: Instance): void
  /** The output of an instance. Nothing more of it is read before it resolves. */
  output(instance: string, stream: 'stdout' | 'stderr', chunk: Buffer): Promise<void>
}

type Start = { signal: AbortSignal; session: Session; onOutput?: AppOutput | undefined }

export function createApps({ clock, log, supervisor, logs, toolsOf, onReset, drain, inFlight }: Parts) {
  const records = new Map<string, InstanceRecord>()
  const forwarded = new WeakMap<LineLog, ForwardedLog>()
  /** The control process that has started an app, as long as it may not be live yet. */
  const starters = new Map<string, Session>()
  const replicas = createReplicas({
    clock,
    log,
    supervisor,
    drain,
    inFlight,
    async specOf(deployment) {
      const record = records.get(deployment)
      return record && specOf(record)
    },
  })

  /** Its parts are read from the record at each start, as they may change while it runs or sleeps. */
  async function specOf(app: InstanceRecord, onOutput?: AppOutput): Promise<InstanceSpec> {
    const { deployment } = app
    const { name, ...options } = app.log
    const { tools: _, expiries, log: _log, scaling: _scaling, ...data } = app
    const own = createForwardedLog(await logs.create(name, options))
    const lines = onOutput ? withOutput(own, onOutput) : own
    forwarded.set(lines, own)
    return {
      ...data,
      log: lines,
      openToolchain: () => openTools(deployment),
      ...(expiries === undefined ? {} : { expiries: async () => records.get(deployment)?.expiries ?? expiries }),
      async onReset() {
        const record = records.get(deployment)
        if (record?.expiries !== undefined) record.expiries = withEverythingExpired(record.expiries, clock.now())
        onReset(deployment).catch((error) => log.error({ err: error, deployment }, 'a reset could not be recorded'))
      },
    }
  }

  /** Those of the last start, unless they were removed from the disk since. */
  async function openTools(deployment: string): Promise<Tools> {
    const record = records.get(deployment)
    if (record?.tools && (await areThere(record.tools))) return record.tools
    const tools = await toolsOf(deployment)
    if (record) record.tools = tools
    return tools
  }

  /** Its record stays until its processes are gone: one that drains still learns what was revalidated. */
  async function retire(deployment: string, isDrained: boolean) {
    starters.delete(deployment)
    await Promise.all([supervisor.retire(deployment, isDrained ? { drain } : {}), replicas.retire(deployment)])
    if (!supervisor.of(deployment)) records.delete(deployment)
  }

  async function say({ name, ...options }: InstanceRecord['log'], phase: string, text: string) {
    const lines = await logs.create(name, options)
    lines.say(phase, text)
    await lines.close()
  }

  return {
    async start(app: InstanceRecord, { signal, session, onOutput }: Start) {
      records.set(app.deployment, app)
      starters.set(app.deployment, session)
      await supervisor.start(await specOf(app, onOutput), signal)
      replicas.set(app.deployment, app.scaling)
    },

    carry: async (from: string, app: InstanceRecord, signal: AbortSignal): Promise<boolean> =>
      supervisor.carry({ runFolder: from }, app, signal),

    /** For the agent that takes the place of this one. `hold` is called with each process that stays here. */
    async handOver({ hold, output }: HandOver): Promise<HandedOverApp[]> {
      await replicas.stop()
      const all = await supervisor.handOver(DRAIN_MS)
      for (const { spec, instance } of all) {
        if (instance) hold(instance)
        await forwarded
          .get(spec.log)
          ?.forward((stream, chunk) => (instance ? output(instance.id, stream, chunk) : undefined))
      }
      return [...Map.groupBy(all, ({ spec }) => spec.deployment)].flatMap(([deployment, handed]) => {
        const app = records.get(deployment)
        return app ? { app, instances: handed.map(toHandedOver) } : []
      })
    },

    /** Goes on with the apps of the agent whose place this one takes. */
    async takeOver(handed: readonly HandedOverApp[], predecessor: Predecessor) {
      for (const { app, instances } of handed) {
        const { deployment } = app
        records.set(deployment, app)
        for (const { ordinal, running, restarts, unvisitedMs } of instances) {
          const first = await specOf(app)
          const spec = ordinal === null ? first : furtherSpec(first, ordinal)
          if (running) {
            const instance = await continued(predecessor, running, spec)
            supervisor.takeOver(spec, instance, { restarts, unvisitedMs })
          } else if (ordinal === null) supervisor.adopt(spec)
          else await spec.log.close()
        }
        const further = instances.flatMap(({ ordinal, running }) => (ordinal !== null && running ? ordinal : []))
        replicas.set(deployment, app.scaling, further)
      }
    },

    /** Those that run go on. Returns those that were not known: they sleep. */
    async adopt(apps: readonly InstanceRecord[]): Promise<string[]> {
      const added: string[] = []
      for (const app of apps) {
        const { deployment } = app
        const known = supervisor.of(deployment) && records.get(deployment)
        records.set(deployment, { ...app, ...(known?.tools ? { tools: known.tools } : {}) })
        if (!known) {
          supervisor.adopt(await specOf(app))
          added.push(deployment)
        }
        replicas.set(deployment, app.scaling)
      }
      return added
    },

    /** Ends all others, except those that another control process is still bringing up. */
    async keep(deployments: readonly string[], session: Session) {
      const kept = new Set(deployments)
      const isOfOther = (deployment: string) => {
        const starter = starters.get(deployment)
        return starter?.isOpen && starter !== session
      }
      const all = new Set(supervisor.all().map(deploymentOf))
      const others = [...all].filter((deployment) => !kept.has(deployment) && !isOfOther(deployment))
      await Promise.all(others.map((deployment) => retire(deployment, true)))
    },

    setScaling(deployment: string, scaling: resources.Scaling) {
      const record = records.get(deployment)
      if (!record) return
      record.scaling = scaling
      replicas.set(deployment, scaling)
    },

    /** All instances of a deployment, the first one first. */
    instancesOf: replicas.of,
    isKeptAwake: replicas.isKeptAwake,

    /** When this resolves, every process of the environment can read them. */
    async setExpiries(environment: string, texts: Readonly<Record<string, string>>) {
      for (const [deployment, expiries] of Object.entries(texts)) {
        const record = records.get(deployment)
        if (record) record.expiries = expiries
      }
      await supervisor.refreshExpiries(environment)
    },

    retire,

    say,

    /** Tells the owner in the log of the app why requests of it to itself were refused. */
    async loopDetected(deployment: string) {
      const record = records.get(deployment)
      if (record) await say(record.log, '', APP_LINES.loop)
    },

    stop: replicas.stop,
  }
}

export type AgentApps = ReturnType<typeof createApps>

function toHandedOver({ spec, instance, restarts, unvisitedMs }: HandedOver): HandedOverApp['instances'][number] {
  const running = instance && { id: instance.id, host: instance.host, port: instance.port, pid: instance.process.pid }
  return { ordinal: spec.ordinal ?? null, running: running ?? null, restarts, unvisitedMs }
}

type RunningElsewhere = NonNullable<HandedOverApp['instances'][number]['running']>

/** A process of the old agent, which writes to the log of this one. */
async function continued(
  { instanceOf }: Predecessor,
  running: RunningElsewhere,
  spec: InstanceSpec,
): Promise<Instance> {
  await spec.log.prepare()
  const instance = instanceOf(running, (stream, chunk) => spec.log.write(stream, '', chunk))
  const exited = instance.process.exited.then(async (exit) => {
    spec.log.rest()
    if (isOverDisk(exit)) await spec.onReset?.()
    return exit
  })
  return { ...instance, process: { ...instance.process, exited } }
}

async function areThere({ mounts }: Tools): Promise<boolean> {
  const found = await Promise.allSettled(mounts.map(({ from }) => access(from)))
  return found.every(({ status }) => status === 'fulfilled')
}

/** Until the control process has recorded it: the app begins as the build left it, so nothing of what it made counts. */
const withEverythingExpired = (expiries: string, everything: number): string =>
  JSON.stringify({ ...JSON.parse(expiries), everything })
