/** The limits of an account, in words. */
import type { AccountUsage } from '../../api/types.ts'
import { bytes, number } from '../../components/facts/format.ts'
import { shareOf, shortBytes } from '../usage/disk/share.ts'

type Ceiling = AccountUsage['ceilings'][number]
export type Counted = Pick<Ceiling, 'used' | 'limit'> & { kind: Ceiling['kind'] | 'FILES' }

/** All limits on counts, with the files on the disk first. */
export const countedIn = ({ files, limitFiles, ceilings }: AccountUsage): Counted[] => [
  { kind: 'FILES', used: files, limit: limitFiles },
  ...ceilings,
]

const WORDS: Record<Counted['kind'], { word: string; about: string }> = {
  FILES: { word: 'Files on the disk', about: 'with folders and links' },
  APPS: { word: 'Apps', about: 'also while they are being deleted' },
  ENVIRONMENTS: { word: 'Environments', about: 'also while they are being deleted' },
  DOMAINS: { word: 'Custom domains', about: 'of all environments' },
  CREDENTIALS: { word: 'API credentials', about: 'revoke those that are not used' },
  AWAKE_APPS: { word: 'Apps awake', about: 'one more puts the longest unvisited one to sleep' },
  APP_MEMORY: {
    word: 'Memory of apps',
    about: 'with those that keep theirs while they sleep; above it the longest unvisited ones are stopped',
  },
  RUNNING_BUILDS: { word: 'Running builds', about: 'others wait for their turn' },
}

export type Shown = { word: string; about: string; figure: string; share: number; state: 'well' | 'near' | 'full' }

const NEAR = 0.85

/** `limit` is 0 if there is none. Limits on what starts and stops by itself never show a warning. */
export function shownOf({ kind, used, limit }: Counted): Shown {
  const figure = (value: number, isLimit = false) =>
    kind === 'APP_MEMORY' ? (isLimit ? shortBytes(value) : bytes(value)) : number(value)
  const share = shareOf(used, limit)
  const isLasting = !['AWAKE_APPS', 'APP_MEMORY', 'RUNNING_BUILDS'].includes(kind)
  return {
    ...WORDS[kind],
    figure: limit === 0 ? `${figure(used)}, no limit` : `${figure(used)} of ${figure(limit, true)}`,
    share,
    state: !isLasting || share < NEAR ? 'well' : share < 1 ? 'near' : 'full',
  }
}
