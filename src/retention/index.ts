import { statfs } from 'node:fs/promises'
import type { Accounts } from '../accounts/index.ts'
import type { Archives } from '../archives/index.ts'
import type { StoredKv } from '../kv/index.ts'
import type { LogMoving, Term } from '../storage/index.ts'
import { type Collect, createCollect } from './collect.ts'
import { createDiskSpace } from './disk-space.ts'
import { createFigures } from './figures.ts'
import { createForgetGone } from './gone.ts'
import { createForget } from './history.ts'
import { createKvQuota } from './kv-quota.ts'
import { createLingering } from './lingering.ts'
import { createLogMoves, type LogMoves } from './log-moves.ts'
import { createRetain } from './retain.ts'
import { createRounds } from './round.ts'
import { createUsage } from './usage.ts'

export { type Counts, createCounts } from './counts.ts'
export type { DiskSpace } from './disk-space.ts'
export type { Usage } from './usage.ts'

type Given = Omit<
  Parameters<typeof createCollect>[0] &
    Parameters<typeof createFigures>[0] &
    Parameters<typeof createForget>[0] &
    Parameters<typeof createForgetGone>[0] &
    Parameters<typeof createRetain>[0] &
    Parameters<typeof createDiskSpace>[0] &
    Parameters<typeof createRounds>[0] &
    Parameters<typeof createUsage>[0] &
    Parameters<typeof createKvQuota>[0] & { dataDir: string },
  'collect' | 'figures' | 'forget' | 'lingering' | 'retain' | 'usage' | 'onShortage' | 'freeBytes'
> & {
  archives: Archives
  accounts: Accounts
  /** Undefined where logs stay on the disk. */
  logMoving?: LogMoving | undefined
  /** Undefined where values of the key-value store are files. */
  storedValues?: Pick<StoredKv, 'collect' | 'sizeOf' | 'start' | 'stop'> | undefined
}

/** A move of a log may be cut off. */
const STOP_MS = 3000

/** The whole module, for one data folder. */
export function createRetention(given: Given) {
  /** Of the disk of the data folder. */
  async function diskBytes(): Promise<{ free: number; total: number }> {
    const { bavail, blocks, bsize } = await statfs(given.dataDir)
    return { free: bavail * bsize, total: blocks * bsize }
  }

  const freeBytes = async (): Promise<number> => (await diskBytes()).free

  const figures = createFigures(given)
  const usage = createUsage({ ...given, figures })
  const retain = createRetain(given)
  const lingering = createLingering(given)
  const forgetGone = createForgetGone(given)
  const collectAll = createCollect({ ...given, figures })
  const collect: Collect = async (signal, term) => {
    const removed = await collectAll(signal, term)
    await lingering.collected()
    // What is removed here never comes back, so it does not matter if two processes do it.
    const forgotten = term ? await forgetGone(AbortSignal.any([signal, term.signal])) : 0
    return forgotten > 0 ? { ...removed, operations: forgotten } : removed
  }
  const rounds = createRounds({ ...given, figures, retain, forget: createForget(given), collect, freeBytes })
  const kvQuota = createKvQuota({ ...given, usage, figures })
  const currentUsage = {
    ...usage,
    async sizeOf(accountId: string) {
      const [measured, more] = [await usage.sizeOf(accountId), await kvQuota.unmeasured(accountId)]
      return { bytes: measured.bytes + more.bytes, files: measured.files + more.files }
    },
  }
  const diskSpace = createDiskSpace({
    ...given,
    usage: currentUsage,
    lingering,
    freeBytes,
    onShortage: () => rounds.hurry(),
  })
  const movesOf = (isShared: boolean): LogMoves | undefined =>
    given.logMoving && given.logMoving.isShared === isShared
      ? createLogMoves({ ...given, moving: given.logMoving })
      : undefined
  const logMoves = movesOf(false)

  /** Beside its rounds, it moves logs that all processes share. */
  function lead(term: Term): { stop(): Promise<unknown> } {
    const [led, shared] = [rounds.lead(term), movesOf(true)]
    shared?.start()
    return { stop: () => Promise.all([led.stop(), shared?.stop(STOP_MS)]) }
  }

  return {
    usage,
    diskSpace,
    rounds,
    freeBytes,
    diskBytes,
    kvQuota,
    /** What the leader does. */
    lead,
    /** `leaderKnown`: rounds begin then, so that the first one of a leader is a whole one. */
    start(leaderKnown?: Promise<void>) {
      rounds.start(leaderKnown)
      logMoves?.start()
      given.storedValues?.start()
    },
    async stop(graceMs: number) {
      await Promise.all([rounds.stop(graceMs), logMoves?.stop(graceMs), given.storedValues?.stop(graceMs)])
    },
  }
}
