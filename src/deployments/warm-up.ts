/**
 * After a start of the agent, the apps that were awake are started again: the last visited first, a few at a time, as long as
 * the machine has memory for them. All others wait for their next visitor.
 */
import { availableParallelism } from 'node:os'
import type { Log } from '../base/index.ts'
import type { Instances } from '../runtime/index.ts'

type Parts = {
  log: Log
  instances: Pick<Instances, 'warmUp'>
  /** What the machine can still give to programs. */
  availableBytes?(): number
  concurrency?: number
}

/** Left free for visitors that wake further apps, and for builds. */
const RESERVE_BYTES = 1024 ** 3

export function createWarmUp(parts: Parts) {
  const { log, instances, availableBytes = process.availableMemory, concurrency = availableParallelism() } = parts
  let left: string[] = []
  let running: Promise<unknown> = Promise.resolve()

  async function startNext() {
    while (availableBytes() > RESERVE_BYTES) {
      const deployment = left.shift()
      if (deployment === undefined) return
      await instances
        .warmUp(deployment)
        .catch((error) => log.warn({ err: error, deployment }, 'an app that was awake could not be started again'))
    }
    if (left.length === 0) return
    log.info(
      { apps: left.length },
      'memory is short, so the apps that were visited least sleep until their next visitor',
    )
    left = []
  }

  return {
    /** Resolves when all have been started, or memory is short. Those of an earlier call that did not start yet are left out. */
    async start(deployments: readonly string[]) {
      left = [...deployments]
      running = Promise.all([running, ...Array.from({ length: concurrency }, startNext)])
      await running
    },
    async stop() {
      left = []
      await running
    },
  }
}
