/**
 * What an agent does for the one that takes its place: it hands over all apps, and goes on holding those of their processes
 * that run. It ends with the last of them.
 */
import { type CallPeer, createCaller } from '../channel/index.ts'
import { SENT_PROBLEMS } from '../contract/index.ts'
import type { Instance } from '../runtime/index.ts'
import type { AgentApps } from './apps.ts'
import type { PredecessorMethods, SuccessorMethods } from './messages.ts'

type Parts = {
  apps: Pick<AgentApps, 'handOver'>
  /** Closes all other connections. */
  release(): void
  /** The last process has ended. */
  onEmpty(): void
}

export function serveSuccessor(peer: CallPeer, { apps, release, onEmpty }: Parts) {
  const held = new Map<string, Instance>()

  function find(id: string): Instance {
    const instance = held.get(id)
    if (!instance) throw new Error('there is no such instance')
    return instance
  }

  function hold(instance: Instance) {
    held.set(instance.id, instance)
    const forget = () => {
      // After the answer to `exitOf`, which is sent first.
      setImmediate(() => {
        held.delete(instance.id)
        if (held.size === 0) onEmpty()
      })
    }
    instance.process.exited.then(forget, forget)
  }

  const methods: PredecessorMethods = {
    async handOver() {
      const handed = await apps.handOver({
        hold,
        output: (instance, stream, chunk) =>
          successor.call('output', { instance, stream, chunk: chunk.toString('base64') }).catch(() => undefined),
      })
      if (held.size === 0) setImmediate(onEmpty)
      return handed
    },
    release,
    exitOf: (id) => find(id).process.exited,
    stop: ({ instance, graceMs }) => find(instance).process.stop(graceMs),
  }
  const successor = createCaller<SuccessorMethods>(peer, methods, SENT_PROBLEMS)
  // Apps end with their agent.
  successor.closed.then(() => {
    for (const { process } of held.values()) process.stop(0).catch(() => undefined)
  })

  return { isSite: (host: string): Promise<boolean> => successor.call('isSite', host).catch(() => false) }
}
