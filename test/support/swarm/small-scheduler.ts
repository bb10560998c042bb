/**
 * A scheduler in memory, in place of Docker's: what it runs are HTTP servers of the test's own process, on the loopback. For
 * claims that need many starts or crashes; the main path is tested on a real swarm.
 */
import { createServer, type Server } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import type { Docker, TaskOutput } from '../../../src/swarm/index.ts'
import type { Scope } from '../folder.ts'
import { until } from '../until.ts'

type Service = Awaited<ReturnType<Docker['service']>>
type Task = Awaited<ReturnType<Docker['tasks']>>[number]
type Secret = { ID: string; Spec: { Name: string; Labels: Record<string, string> }; text: string }

/**
 * `answers`: any request; `mute`: accepts connections and never answers; `crashes`: writes two lines, the last one without an end, and
 * ends at once, with exit code 7.
 */
export type Behaviour = 'answers' | 'mute' | 'crashes' | 'imageless'

type Running = { task: Task; output: TaskOutput[]; close(): void }

export function startScheduler(t: Scope, { regions = ['EU-W'] } = {}) {
  const services = new Map<string, Service>()
  const running = new Map<string, Running[]>()
  const secrets = new Map<string, Secret>()
  const behaviours = new Map<string, Behaviour>()
  const writes: string[] = []
  let looks = 0
  let lastId = 0
  let lastPiece = 0
  const nextId = (kind: string) => `${kind}${++lastId}`
  const time = () => new Date().toISOString()
  const deploymentOf = (service: Service) => service.Spec.Labels['headland.deployment'] ?? ''

  const end = (one: Running, state: string, exitCode?: number) => {
    one.close()
    one.task.DesiredState = 'shutdown'
    one.task.Status = {
      ...one.task.Status,
      Timestamp: time(),
      State: state,
      ...(exitCode === undefined ? {} : { ContainerStatus: { ExitCode: exitCode } }),
    }
  }

  /** Each piece has a time of its own, as real ones almost always do. */
  const print = (one: Running, stream: TaskOutput['stream'], text: string) => {
    const nanoseconds = String(++lastPiece).padStart(6, '0')
    one.output.push({ stream, time: time().replace('Z', `${nanoseconds}Z`), bytes: Buffer.from(text) })
  }

  async function startTask(service: Service, slot: number): Promise<Running> {
    const task: Task = {
      ID: nextId('task'),
      ServiceID: service.ID,
      Slot: slot,
      NodeID: 'node1',
      CreatedAt: new Date(Date.now() + lastId).toISOString(),
      DesiredState: 'running',
      Status: { Timestamp: time(), State: 'starting' },
    }
    const one: Running = { task, output: [], close: () => undefined }
    const behaviour = behaviours.get(deploymentOf(service)) ?? 'answers'
    if (!regions.some((region) => service.Spec.TaskTemplate.Placement?.Constraints.join().endsWith(`==${region}`))) {
      task.Status = { Timestamp: time(), State: 'pending', Err: 'no suitable node' }
      return one
    }
    if (behaviour === 'imageless') {
      task.DesiredState = 'shutdown'
      task.Status = { Timestamp: time(), State: 'rejected', Err: 'No such image: app' }
      return one
    }
    const server: Server =
      behaviour === 'mute' ? (createTcpServer() as Server) : createServer((_, response) => void response.end('hello'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    one.close = () => {
      server.close()
      if (behaviour !== 'mute') server.closeAllConnections()
    }
    if (behaviour === 'mute') server.unref()
    task.Status = {
      Timestamp: time(),
      State: 'running',
      PortStatus: { Ports: [{ TargetPort: 3000, PublishedPort: port }] },
    }
    if (behaviour === 'crashes') {
      print(one, 'stdout', 'it begins\n')
      print(one, 'stderr', 'Error: it cannot go on')
      end(one, 'failed', 7)
    }
    return one
  }

  /** As many tasks that are wanted as the service has replicas. */
  async function follow(service: Service) {
    const all = running.get(service.ID) ?? []
    running.set(service.ID, all)
    const wanted = service.Spec.Mode.Replicated?.Replicas ?? 0
    const live = all.filter(({ task }) => task.DesiredState === 'running')
    for (const one of live.slice(wanted)) end(one, 'shutdown')
    for (let slot = live.length + 1; slot <= wanted; slot++) all.push(await startTask(service, slot))
  }

  const docker: Pick<Docker, 'services' | 'tasks' | 'nodes' | 'secrets' | 'createSecret' | 'removeSecret'> &
    Pick<Docker, 'createService' | 'changeService' | 'removeService' | 'taskLogs'> = {
    services: async () => {
      looks += 1
      return [...services.values()].map((service) => structuredClone(service))
    },
    tasks: async () => [...running.values()].flat().map(({ task }) => structuredClone(task)),
    nodes: async () => [
      {
        ID: 'node1',
        Version: { Index: 1 },
        Spec: { Availability: 'active', Role: 'worker', Labels: { region: regions[0] ?? '' } },
        Description: { Hostname: 'node1', Engine: { EngineVersion: '28.5.2' } },
        Status: { State: 'ready', Addr: '127.0.0.1' },
      },
    ],
    secrets: async () => [...secrets.values()],
    async createSecret(name, labels, content) {
      writes.push(`createSecret ${name}`)
      const secret: Secret = {
        ID: nextId('secret'),
        Spec: { Name: name, Labels: { ...labels } },
        text: String(content),
      }
      secrets.set(secret.ID, secret)
      return { ID: secret.ID }
    },
    async removeSecret(id) {
      writes.push(`removeSecret ${secrets.get(id)?.Spec.Name}`)
      secrets.delete(id)
    },
    taskLogs: (id, asked) => outputOf(() => [...running.values()].flat().find(({ task }) => task.ID === id), asked),
    async createService(spec) {
      writes.push(`createService ${spec.Name}`)
      const service: Service = { ID: nextId('service'), Version: { Index: 1 }, UpdatedAt: time(), Spec: spec }
      services.set(service.ID, service)
      await follow(service)
      return { ID: service.ID }
    },
    async changeService(id, to) {
      const service = services.get(id)
      const spec = service && (await to(service))
      if (!service || !spec) return
      writes.push(`changeService ${spec.Name} ${spec.Mode.Replicated?.Replicas}`)
      const isOther = JSON.stringify(spec.TaskTemplate) !== JSON.stringify(service.Spec.TaskTemplate)
      service.Spec = spec
      service.UpdatedAt = time()
      if (isOther)
        for (const one of running.get(id) ?? []) if (one.task.DesiredState === 'running') end(one, 'shutdown')
      await follow(service)
    },
    async removeService(id) {
      writes.push(`removeService ${services.get(id)?.Spec.Name}`)
      for (const one of running.get(id) ?? []) one.close()
      services.delete(id)
      running.delete(id)
    },
  }

  t.after(() => {
    for (const one of [...running.values()].flat()) one.close()
  })

  return {
    docker: docker as Docker,
    /** Everything that was written, in order. */
    writes,
    /** How often its services were listed. */
    looks: () => looks,
    /** What programs of a deployment do that are started from now on. */
    behave: (deployment: string, behaviour: Behaviour) => void behaviours.set(deployment, behaviour),
    /** The instances of a deployment end by themselves, and are started again. */
    async crash(deployment: string, exitCode: number) {
      for (const service of services.values()) {
        if (deploymentOf(service) !== deployment) continue
        for (const one of running.get(service.ID) ?? [])
          if (one.task.DesiredState === 'running') end(one, 'failed', exitCode)
        await follow(service)
      }
    },
    /** All instances of a deployment that run write this. */
    print(deployment: string, text: string, stream: TaskOutput['stream'] = 'stdout') {
      for (const service of services.values())
        for (const one of running.get(service.ID) ?? [])
          if (deploymentOf(service) === deployment && one.task.DesiredState === 'running') print(one, stream, text)
    },
    services: () => [...services.values()].map(deploymentOf),
    secrets: () => [...secrets.values()].map(({ text }) => text),
  }
}

/** As it is, and then as it comes if it is followed. A task that is removed takes its output with it. */
async function* outputOf(
  find: () => Running | undefined,
  { since, isFollowed, signal }: Parameters<Docker['taskLogs']>[1],
): AsyncGenerator<TaskOutput> {
  for (let at = 0; !signal.aborted; ) {
    const one = find()
    if (!one) throw new Error('there is no such task')
    const next = one.output[at]
    if (!next && !isFollowed) return
    if (!next) await until(() => signal.aborted || one.output.length > at || !find(), 'there is more')
    else {
      at += 1
      if (Date.parse(next.time) >= since * 1000) yield next
    }
  }
}
