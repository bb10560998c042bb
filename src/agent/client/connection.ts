/** The control process's connection to the agent. It is made again when it breaks; calls wait for it, up to a limit. */
import { type Clock, createListeners, type Log, processName, settlesWithin } from '../../base/index.ts'
import {
  type Caller,
  ConnectionLost,
  createCaller,
  type Frame,
  followPeer,
  type Methods,
  PROTOCOL,
} from '../../channel/index.ts'
import { SENT_PROBLEMS } from '../../contract/index.ts'
import type { AgentMethods } from '../messages.ts'

/** An agent that died is started again within a few seconds. */
const WAIT_MS = 30_000

/** What has the same result if it is done twice. */
const REPEATABLE: ReadonlySet<keyof AgentMethods> = new Set([
  'describe',
  'answers',
  'obstacle',
  'openService',
  'adoptApps',
  'keepApps',
  'warmUpApp',
  'setScaling',
  'setExpiries',
  'retireApp',
  'awakeApps',
])

type Parts = { clock: Clock; log: Log; version: string; path: string; methods: Methods }

export type AgentConnection = ReturnType<typeof connectToAgent>

export function connectToAgent({ clock, log, version, path, methods }: Parts) {
  let connected = Promise.withResolvers<Caller<AgentMethods>>()
  const reconnected = createListeners<void>()
  let isFirst = true
  const lost = createListeners<void>()
  const stopped = Promise.withResolvers<never>()
  // Only a call that waits for a connection has to know.
  stopped.promise.catch(() => undefined)

  const following = followPeer<Frame, Frame>({
    addresses: [path],
    greeting: { protocol: PROTOCOL, role: 'control', process: processName(), version },
    onPeer(peer) {
      const agent = createCaller<AgentMethods>(peer, methods, SENT_PROBLEMS)
      connected.resolve(agent)
      agent.closed.then(() => {
        connected = Promise.withResolvers()
        lost.notify()
      })
      if (!isFirst) reconnected.notify()
      isFirst = false
    },
    onRefused: (error) => log.debug({ err: error }, 'the agent cannot be reached'),
  })

  /** Waits until there is a connection. */
  async function agent(): Promise<Caller<AgentMethods>> {
    const found = Promise.race([connected.promise, stopped.promise])
    if (!(await settlesWithin(clock, found, WAIT_MS))) throw new ConnectionLost('the agent cannot be reached')
    return found
  }

  /** One that may be repeated is, if the agent is lost or replaced meanwhile. */
  const call: Caller<AgentMethods>['call'] = async (method, argument, signal) => {
    try {
      return await (await agent()).call(method, argument, signal)
    } catch (error) {
      if (!(error instanceof ConnectionLost) || !REPEATABLE.has(method)) throw error
      return (await agent()).call(method, argument, signal)
    }
  }

  return {
    agent,
    call,
    /** Called for each connection after the first. */
    onReconnect: reconnected.add,
    onLost: lost.add,
    async stop() {
      stopped.reject(new ConnectionLost('the connection to the agent is closed'))
      await following.stop()
    },
  }
}
