/** The agent whose place this one takes: its apps go on in the processes that it has started. */
import { type Caller, connectPeer, createCaller, type Frame, type Greeting } from '../channel/index.ts'
import { SENT_PROBLEMS } from '../contract/index.ts'
import type { Exit, Process } from '../engines/index.ts'
import type { AppOutput, Instance } from '../runtime/index.ts'
import type { HandedOverApp, PredecessorMethods, SuccessorMethods } from './messages.ts'

/** Its sandboxes die with it. */
const KILLED: Exit = { code: null, signal: 'SIGKILL' }

type Edges = {
  /** Whether an edge serves a host. */
  isSite(host: string): Promise<boolean>
}

export async function connectToPredecessor(path: string, greeting: Greeting, { isSite }: Edges) {
  const outputs = new Map<string, AppOutput>()
  const methods: SuccessorMethods = {
    async output({ instance, stream, chunk }) {
      await outputs.get(instance)?.(stream, Buffer.from(chunk, 'base64'))
    },
    isSite,
  }
  const peer = await connectPeer<Frame, Frame>(path, greeting)
  const old: Caller<PredecessorMethods> = createCaller<PredecessorMethods>(peer, methods, SENT_PROBLEMS)

  return {
    handOver: (): Promise<HandedOverApp[]> => old.call('handOver', null),
    release: () => old.notify('release', null),

    /** One of its processes, as if this agent had started it. */
    instanceOf(
      { id, host, port, pid }: NonNullable<HandedOverApp['instances'][number]['running']>,
      onOutput: AppOutput,
    ): Instance {
      outputs.set(id, onOutput)
      const exited = old
        .call('exitOf', id)
        .catch(() => KILLED)
        .finally(() => outputs.delete(id))
      const process: Process = {
        pid,
        exited,
        listeningPorts: async () => [port],
        stop: async (graceMs) => {
          await old.call('stop', { instance: id, graceMs }).catch(() => undefined)
          return exited
        },
      }
      return { id, host, port, process }
    },
  }
}

export type Predecessor = Awaited<ReturnType<typeof connectToPredecessor>>
