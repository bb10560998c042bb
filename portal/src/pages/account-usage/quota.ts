/** How much of its disk quota an account uses. */
import { bytes } from '../../components/facts/format.ts'
import { percent, shareOf, shortBytes } from '../usage/disk/share.ts'

export type Quota = { share: number; state: 'none' | 'well' | 'near' | 'over'; words: string }

const NEAR = 0.85

/** `limitBytes` is 0 if there is no limit. */
export function quotaOf({ bytes: held, limitBytes }: { bytes: number; limitBytes: number }): Quota {
  if (limitBytes === 0) return { share: 0, state: 'none', words: `${bytes(held)}, without a limit` }
  const words = `${bytes(held)} of ${shortBytes(limitBytes)}, ${percent((100 * held) / limitBytes)}`
  const state = held >= limitBytes ? 'over' : held >= NEAR * limitBytes ? 'near' : 'well'
  return { share: shareOf(held, limitBytes), state, words }
}
