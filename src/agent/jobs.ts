/** Runs jobs of builds for one connection, and ends them all when it is lost. */
import type { Engine, NetworkNamespace, Networks, Process } from '../engines/index.ts'
import type { AgentMethods, Output } from './messages.ts'
import { createOutputWindow } from './output-window.ts'

type Parts = {
  engine: Engine
  networks: Networks | undefined
  /** Resolves when it was taken. */
  output(sent: Output): Promise<void>
}

type Methods = Pick<
  AgentMethods,
  | 'startJob'
  | 'exitOfJob'
  | 'portsOfJob'
  | 'stopJob'
  | 'openNetwork'
  | 'contactsOf'
  | 'redirectNames'
  | 'closeNetwork'
  | 'answers'
  | 'obstacle'
  | 'openService'
>

export function createJobs({ engine, networks, output }: Parts) {
  const jobs = new Map<number, Process>()
  const namespaces = new Map<number, NetworkNamespace>()
  let isOver = false

  const jobOf = (id: number): Process => found(jobs.get(id), `job ${id}`)
  const namespaceOf = (id: number): NetworkNamespace => found(namespaces.get(id), `network ${id}`)

  function found<Value>(value: Value | undefined, what: string): Value {
    if (value === undefined) throw new Error(`there is no ${what}`)
    return value
  }

  async function closeNetwork(id: number) {
    const namespace = namespaceOf(id)
    namespaces.delete(id)
    await namespace.close()
  }

  const methods: Methods = {
    async startJob({ id, job: { network, ...job } }) {
      const inside = network === undefined ? {} : { network: namespaceOf(network) }
      const write = createOutputWindow(output)
      const process = await engine.start({ ...job, ...inside }, (stream, chunk) =>
        write({ id, stream, chunk: chunk.toString('base64') }),
      )
      jobs.set(id, process)
      if (isOver) await process.stop(0)
      return { pid: process.pid }
    },
    async exitOfJob(id) {
      try {
        return await jobOf(id).exited
      } finally {
        jobs.delete(id)
      }
    },
    portsOfJob: (id) => jobOf(id).listeningPorts(),
    stopJob: ({ id, graceMs }) => jobOf(id).stop(graceMs),

    async openNetwork({ id, label, options }) {
      const namespace = await found(networks, 'network of jobs').open(label, options)
      namespaces.set(id, namespace)
      if (isOver) await closeNetwork(id)
      const { address, listen, mounts } = namespace
      return { address, listen, mounts }
    },
    contactsOf: (id) => namespaceOf(id).contacts(),
    redirectNames: ({ network, names }) => namespaceOf(network).redirect(names),
    closeNetwork,
    answers: (endpoint) => found(networks, 'network of jobs').answers(endpoint),
    obstacle: async () => (await networks?.obstacle()) ?? null,
    async openService({ gateway, port }) {
      if (networks?.gateway === gateway) await networks.openService(port)
    },
  }

  return {
    methods,
    /** Ends all jobs, then their networks. */
    async end() {
      isOver = true
      await Promise.allSettled([...jobs.values()].map((process) => process.stop(0)))
      await Promise.allSettled([...namespaces.keys()].map(closeNetwork))
    },
  }
}
