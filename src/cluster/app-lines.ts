/** Lines of the service in the logs of apps. A line that cannot be written is not worth more than a line in the service's own log. */
import type { Log } from '../base/index.ts'
import type { InstanceRecord } from '../runtime/index.ts'
import type { LineLogs, Vault } from '../storage/index.ts'
import { openSecrets } from './app-record.ts'
import type { AppRecords } from './records.ts'

type Parts = {
  log: Log
  logs: Pick<LineLogs, 'create'>
  vault: Pick<Vault, 'open'>
  records: Pick<AppRecords, 'recordOf'>
}

export function createAppLines({ log, logs, vault, records }: Parts) {
  async function say({ name, ...options }: InstanceRecord['log'], phase: string, text: string) {
    const lines = await logs.create(name, options)
    lines.say(phase, text)
    await lines.close()
  }

  async function trySay(to: InstanceRecord['log'], phase: string, text: string) {
    await say(to, phase, text).catch((error) =>
      log.warn({ err: error, log: to.name }, 'a line could not be written to the log of an app'),
    )
  }

  return {
    say,
    trySay,

    /** Into the log of a deployment that is on record. */
    async sayOf(deployment: string, phase: string, text: string): Promise<void> {
      try {
        const sealed = await records.recordOf(deployment)
        if (sealed) await trySay(openSecrets(vault, deployment, sealed).log, phase, text)
      } catch (error) {
        log.warn({ err: error, deployment }, 'the log of an app is not known')
      }
    },
  }
}

export type AppLines = ReturnType<typeof createAppLines>
