/**
 * The logs that the leader writes the output of apps to. Each instance has its own lines, so that those of two are never mixed, and a
 * secret is found in each; the lines of all are in the log of their app. Where the database is away, those who write wait, and so
 * nothing more is read of their instances.
 */
import type { Clock, Log } from '../../base/index.ts'
import type { LineLog, LineLogs, Vault } from '../../storage/index.ts'
import type { TaskOutput } from '../../swarm/index.ts'
import { openSecrets } from '../app-record.ts'
import type { AppRecords } from '../records.ts'

type Parts = {
  clock: Clock
  log: Log
  logs: Pick<LineLogs, 'create'>
  vault: Pick<Vault, 'open'>
  records: Pick<AppRecords, 'recordOf'>
  /** What waits is given up. */
  signal: AbortSignal
}

type Piece = Pick<TaskOutput, 'stream' | 'bytes'> & { instance: string; deployment: string; phase: string }

const PAUSE_MS = { first: 500, max: 30_000 }

export function createOutputLogs({ clock, log, logs, vault, records, signal }: Parts) {
  /** By instance; undefined where the app is not on record any more. */
  const opened = new Map<string, Promise<LineLog | undefined>>()

  async function openOnce(deployment: string): Promise<LineLog | undefined> {
    const sealed = await records.recordOf(deployment)
    if (!sealed) return undefined
    const { name, ...options } = openSecrets(vault, deployment, sealed).log
    return logs.create(name, options)
  }

  async function open(deployment: string): Promise<LineLog | undefined> {
    for (let pauseMs = PAUSE_MS.first; !signal.aborted; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.max)) {
      try {
        return await openOnce(deployment)
      } catch (error) {
        log.warn({ err: error, deployment }, 'the log of an app cannot be opened now')
        await clock.sleep(pauseMs, signal)
      }
    }
    return undefined
  }

  /** Resolves when everything is stored. */
  async function close(instance: string): Promise<void> {
    const lines = opened.get(instance)
    opened.delete(instance)
    try {
      await (await lines)?.close()
    } catch (error) {
      log.warn({ err: error, instance }, 'the last lines of an app could not be written')
    }
  }

  return {
    /** Opens the log with the first piece. Nothing more of the instance may be read until it resolves. */
    async write({ instance, deployment, stream, phase, bytes }: Piece): Promise<void> {
      const opening = opened.get(instance) ?? open(deployment)
      opened.set(instance, opening)
      await (await opening)?.write(stream, phase, bytes)
    },
    close,
    closeAll: () => Promise.all([...opened.keys()].map(close)),
  }
}
