/**
 * Puts new processes in the place of those that run, without a request that fails:
 *
 *   1  the files process is started again                  edges serve without it what they know; it is back before new ones ask
 *   2  the new agent starts beside the old one             it has networks of its own, and holds nothing yet
 *   3  the new control process starts beside the old one   both answer the API; only the old one works on operations
 *   4  the new edges start beside the old ones             both accept from the same sockets
 *   5  the old control process stops                       its edges follow the new one
 *   6  the new agent takes over                            apps go on in the old agent until they sleep, crash or are replaced
 *   7  the new control process works on operations
 *   8  the old edges drain                                 they accept no more; open connections may take a while
 *
 * If one of the new processes does not come up in 2 to 4, the new ones are ended, and the old ones go on. The old agent ends
 * with the last of its apps.
 */
import type { Log } from '../base/index.ts'
import type { AgentReady } from './agent.ts'
import type { Running, Starts } from './starts.ts'
import type { Supervised } from './supervised.ts'

type Parts = {
  log: Log
  running: Running
  start: Starts
  /** An agent was started again. */
  moveTo(ready: AgentReady): void
  /** Lets apps reach the service at this gateway. */
  openFor(gateway: string): Promise<void>
  closeFor(gateway: string): void
  /** How long connections to an old edge may go on, WebSockets among them; how long the old control process may take to stop. */
  graceMs: { drain: number; control: number }
  /** Aborted when the service stops: then no more processes are started. */
  stopping: AbortSignal
}

export async function replace({
  log,
  running,
  start,
  moveTo,
  openFor,
  closeFor,
  graceMs,
  stopping,
}: Parts): Promise<void> {
  const old = { ...running, edges: [...running.edges] }
  running.files?.renew()
  const next = await startBeside(old, { start, moveTo, openFor, closeFor, stopping })
  running.control = next.control
  running.edges = next.edges
  running.node = next.node
  await old.node?.stop(graceMs.control, { isReplaced: true })
  await old.control?.stop(graceMs.control, { isReplaced: true })
  if (old.agent && next.agent) {
    running.agent = next.agent
    running.oldAgents.add(old.agent)
    const { agent } = old
    agent.letGo().then(() => {
      running.oldAgents.delete(agent)
      closeFor(agent.ready.gateway)
    })
    await next.agent.takeOver().catch(async (error) => {
      log.error({ err: error }, 'the apps could not be handed over; they are started again')
      await agent.stop(0)
    })
  }
  // One that ends in this moment is started again, and begins at once.
  await next.control?.takeOver().catch((error) => log.error({ err: error }, 'the new control process ended'))
  for (const edge of old.edges) {
    running.oldEdges.add(edge)
    edge
      .stop(graceMs.drain, { isReplaced: true })
      .catch((error) => log.error({ err: error }, 'an old edge could not be stopped'))
      .finally(() => running.oldEdges.delete(edge))
  }
}

type Beside = Pick<Running, 'agent' | 'control' | 'edges' | 'node'>

/** All of them, or none. */
async function startBeside(
  old: Beside,
  { start, moveTo, openFor, closeFor, stopping }: Pick<Parts, 'start' | 'moveTo' | 'openFor' | 'closeFor' | 'stopping'>,
): Promise<Beside> {
  const undo: (() => unknown)[] = []
  async function begun<Ready>(starting: Promise<Supervised<Ready>>): Promise<Supervised<Ready>> {
    const process = await starting
    undo.unshift(() => process.stop(0))
    stopping.throwIfAborted()
    return process
  }

  try {
    const agent = old.agent && (await begun(start.agent(moveTo, { isSuccessor: true })))
    if (agent && old.control) {
      await openFor(agent.ready.gateway)
      undo.unshift(() => closeFor(agent.ready.gateway))
    }
    const control = old.control && (await begun(start.control({ isReload: true })))
    const edges: Beside['edges'] = []
    for (const index of old.edges.keys()) edges.push(await begun(start.edge(index)))
    // Both keep the same rules for a moment.
    const node = old.node && (await begun(start.node()))
    return { agent, control, edges, node }
  } catch (error) {
    for (const step of undo) await step()
    // The socket at which edges connect is the one of the control process that has ended.
    if (!stopping.aborted) old.control?.send({ kind: 'relisten' })
    throw error
  }
}
