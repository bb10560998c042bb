/**
 * What an app writes while it is started, for the process that starts it: the leader writes it into the log of the app, and here it
 * is read from there. Other deployments of the environment write to the same log, and are not started now.
 */
import { type Clock, type Log, settlesWithin } from '../base/index.ts'
import type { AppOutput } from '../runtime/index.ts'
import type { LineLogs, LogLine } from '../storage/index.ts'
import { STARTING } from './output-text.ts'

type Parts = { clock: Clock; log: Log; logs: Pick<LineLogs, 'follow' | 'pieces' | 'lastNumber'> }

/** For the last lines. A database that is away does not hold up the end of a start. */
const END_MS = 5000

/** A start does not fail because its lines cannot be read. */
export async function followStart({ clock, log, logs }: Parts, name: string, onOutput: AppOutput) {
  const leaving = new AbortController()
  const { signal } = leaving
  const onFault = (error: unknown) => log.warn({ err: error, log: name }, 'the output of a start could not be read')
  let last = await logs.lastNumber(name).catch(onFault)

  async function give({ number, stream, phase, text }: LogLine) {
    last = number
    if (stream !== 'service' && phase === STARTING) await onOutput(stream, Buffer.from(`${text}\n`))
  }

  async function follow() {
    if (last === undefined) return
    for await (const line of logs.follow(name, last, async () => false, signal)) await give(line)
  }

  async function giveRest() {
    await following
    if (last === undefined) return
    for await (const lines of logs.pieces(name, last)) for (const line of lines) await give(line)
  }

  const following = follow().catch(onFault)

  return {
    /** Resolves when all lines were given that are in the log by now. */
    async end(): Promise<void> {
      leaving.abort()
      await settlesWithin(clock, giveRest().catch(onFault), END_MS)
    },
  }
}
