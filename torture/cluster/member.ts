/** One service of a cluster, which is killed and started again on the same data. */
import { setTimeout as wait } from 'node:timers/promises'
import type { TestService } from '../../test/support/service/service.ts'
import { isRunning } from '../processes.ts'

export type Member = ReturnType<typeof createMember>

/** It may be started while the database is away. */
const MAX_STARTS = 60
const START_PAUSE_MS = 1000

export function createMember(name: string, first: TestService, start: (dataDir: string) => Promise<TestService>) {
  let service = first
  let logs = ''
  let restarts = 0
  let isExpectedDown = false

  async function startAgain() {
    logs += service.log()
    for (let tries = 1; ; tries++) {
      try {
        service = await start(first.dataDir)
        restarts += 1
        return
      } catch (error) {
        if (tries >= MAX_STARTS) throw error
        logs += `it did not start: ${(error as Error).message}\n`
        await wait(START_PAUSE_MS)
      }
    }
  }

  return {
    name,
    service: () => service,
    restarts: () => restarts,
    log: () => logs + service.log(),
    /** Without having been killed or stopped. */
    hasEnded: () => !isExpectedDown && !isRunning(service.pid),

    /** The whole machine is lost, and back after a while. */
    async lose(pause: number | (() => Promise<unknown>)) {
      if (isExpectedDown) return
      isExpectedDown = true
      await service.kill()
      if (typeof pause === 'function') await pause()
      await startAgain()
      isExpectedDown = false
    },

    async stop(): Promise<number | null> {
      isExpectedDown = true
      return service.stop()
    },
  }
}
