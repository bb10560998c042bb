import { statfs } from 'node:fs/promises'
import type { Accounts } from '../accounts/index.ts'
import type { Archives } from '../archives/index.ts'
import { type Collect, createCollect } from './collect.ts'
import { createFigures } from './figures.ts'
import { createForgetGone } from './gone.ts'
import { createForget } from './history.ts'
import { createLingering } from './lingering.ts'
import { createRetain } from './retain.ts'
import { createRoom } from './room.ts'
import { createRounds } from './round.ts'
import { createUsage } from './usage.ts'
import { createValueRoom } from './value-room.ts'

export { type Counts, createCounts } from './counts.ts'
export type { RoomOnDisk } from './room.ts'
export type { Usage } from './usage.ts'

type Given = Omit<
  Parameters<typeof createCollect>[0] &
    Parameters<typeof createFigures>[0] &
    Parameters<typeof createForget>[0] &
    Parameters<typeof createRetain>[0] &
    Parameters<typeof createRoom>[0] &
    Parameters<typeof createRounds>[0] &
    Parameters<typeof createUsage>[0] &
    Parameters<typeof createValueRoom>[0] & { dataDir: string },
  'collect' | 'figures' | 'forget' | 'lingering' | 'retain' | 'usage' | 'onShortage' | 'freeBytes'
> & { archives: Archives; accounts: Accounts }

/** The whole room, for what lies in a data folder. */
export function createUpkeep(given: Given) {
  async function freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(given.dataDir)
    return bavail * bsize
  }

  const figures = createFigures(given)
  const usage = createUsage({ ...given, figures })
  const retain = createRetain(given)
  const lingering = createLingering(given)
  const forgetGone = createForgetGone(given)
  const collectAll = createCollect({ ...given, figures })
  const collect: Collect = async (signal) => {
    const removed = await collectAll(signal)
    await lingering.collected()
    const forgotten = await forgetGone(signal)
    return forgotten > 0 ? { ...removed, operations: forgotten } : removed
  }
  const rounds = createRounds({ ...given, figures, retain, forget: createForget(given), collect, freeBytes })
  const valueRoom = createValueRoom({ ...given, usage, figures })
  const heldNow = {
    ...usage,
    async sizeOf(accountId: string) {
      const [held, more] = [await usage.sizeOf(accountId), await valueRoom.unmeasured(accountId)]
      return { bytes: held.bytes + more.bytes, files: held.files + more.files }
    },
  }
  const room = createRoom({ ...given, usage: heldNow, lingering, freeBytes, onShortage: () => rounds.hurry() })
  return { usage, room, rounds, freeBytes, valueRoom }
}
