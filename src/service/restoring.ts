/** Tells the agent what is live, at the start of this process and of another agent, and starts the apps that were awake. */
import type { AgentClient } from '../agent/index.ts'
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
  agent: Pick<AgentClient, 'onRestart'>
  started: AsyncDisposableStack
  /** Lets apps reach the service through the agent that is there now. */
  reopenService(): Promise<void>
}

/** Resolves when the agent knows what is live; apps that were awake and do not run are started again after that. */
export async function restoreApps({ log, database: { clock }, hosting, live, agent, started, reopenService }: Parts) {
  const stopping = new AbortController()
  const { signal } = stopping
  const warmUp = createWarmUp({ log, instances: hosting.instances })
  const restore = async () => void warmUp.start(await live.launcher.restore())
  const onAway = () => log.warn('apps are started again when the database is back')
  started.defer(async () => {
    stopping.abort()
    await warmUp.stop()
  })
  // Files that only the registry has are got before their apps are started.
  await live.imageSteps.restoreLive()
  await restore()
  // Another agent has taken over from one that died with all apps.
  agent.onRestart(() => {
    reopenService()
      .then(() => doneWithDatabase({ clock, signal, onAway }, restore))
      .catch((error) => log.error({ err: error }, 'apps could not be started again'))
  })
}
