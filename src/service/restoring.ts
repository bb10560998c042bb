/** Tells the agent what is live, at the start of this process and of another agent, and starts the apps that were awake. */
import type { Log } from '../base/index.ts'
import type { Database } from '../data-folder.ts'
import { createWarmUp } from '../deployments/index.ts'
import { doneWithDatabase } from '../storage/index.ts'
import type { Hosting } from './hosting.ts'
import type { Live } from './live.ts'

type Parts = {
  log: Log
  database: Database
  hosting: Hosting
  live: Live
  /** Lets apps reach the service through the agent that is there now. */
  reopenService(): Promise<void>
}

export function createRestoring({ log, database: { clock }, hosting, live, reopenService }: Parts) {
  const stopping = new AbortController()
  const { signal } = stopping
  const warmUp = createWarmUp({ log, instances: hosting.instances })
  const restore = async () => void warmUp.start(await live.launcher.restore())
  const onAway = () => log.warn('apps are started again when the database is back')

  return {
    restore,
    /** Another agent has taken over from one that died with all apps. */
    restoreAgain() {
      reopenService()
        .then(() => doneWithDatabase({ clock, signal, onAway }, restore))
        .catch((error) => log.error({ err: error }, 'apps could not be started again'))
    },
    async stop() {
      stopping.abort()
      await warmUp.stop()
    },
  }
}
