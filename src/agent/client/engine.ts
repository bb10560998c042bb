/** The engine and the networks of the agent, as builds in the control process use them. */
import type { Caller } from '../../channel/index.ts'
import type { Engine, JobNetwork, NetworkNamespace, Networks, Output, Process } from '../../engines/index.ts'
import type { AgentMethods, ControlMethods, MachineDescription } from '../messages.ts'
import type { AgentConnection } from './connection.ts'

/** What is still written by the programs that this process has started. */
export function createOutputs() {
  const outputs = new Map<number, Output>()
  let lastId = 0
  return {
    add(onOutput: Output): number {
      outputs.set(++lastId, onOutput)
      return lastId
    },
    remove: (id: number) => outputs.delete(id),
    receive: (async ({ id, stream, chunk }) => {
      await outputs.get(id)?.(stream, Buffer.from(chunk, 'base64'))
    }) satisfies ControlMethods['output'],
  }
}

export type Outputs = ReturnType<typeof createOutputs>

type Parts = { connection: Pick<AgentConnection, 'agent'>; outputs: Outputs }

/** Networks are known by an id in the connection in which they were opened. */
type Opened = { id: number; agent: Caller<AgentMethods> }

export function createEngineClient({ connection, outputs }: Parts) {
  const opened = new WeakMap<JobNetwork, Opened>()
  let lastNetwork = 0

  const engine = ({ isIsolating, overlayMissing, description, limits }: MachineDescription['sandbox']): Engine => ({
    isIsolating,
    overlayMissing: overlayMissing ?? undefined,
    description,
    limits,
    async start({ network, ...job }, onOutput): Promise<Process> {
      const inside = network && opened.get(network)
      const agent = inside?.agent ?? (await connection.agent())
      const id = outputs.add(onOutput)
      try {
        const named = inside ? { network: inside.id } : {}
        const { pid } = await agent.call('startJob', { id, job: { ...job, ...named } })
        const exited = agent.call('exitOfJob', id).finally(() => outputs.remove(id))
        // A caller that awaits it still gets the error; without one the rejection must not be unhandled.
        exited.catch(() => undefined)
        return {
          pid,
          exited,
          listeningPorts: () => agent.call('portsOfJob', id),
          stop: (graceMs) => agent.call('stopJob', { id, graceMs }),
        }
      } catch (error) {
        outputs.remove(id)
        throw error
      }
    },
  })

  async function open(...[label, options = {}]: Parameters<Networks['open']>): Promise<NetworkNamespace> {
    const agent = await connection.agent()
    const id = ++lastNetwork
    const { address, listen, mounts } = await agent.call('openNetwork', { id, label, options })
    const namespace: NetworkNamespace = {
      address,
      listen,
      mounts,
      around: () => {
        throw new Error('programs of this network are started by the agent')
      },
      contacts: () => agent.call('contactsOf', id),
      redirect: (names) => agent.call('redirectNames', { network: id, names }),
      close: () => agent.call('closeNetwork', id),
    }
    opened.set(namespace, { id, agent })
    return namespace
  }

  return { engine, open }
}
