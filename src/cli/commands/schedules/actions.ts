import type { resources } from '../../../contract/index.ts'

/** By the words that are typed. */
export const ACTIONS = {
  rebuild: 'REBUILD',
  'clean-rebuild': 'CLEAN_REBUILD',
  purge: 'PURGE_CACHE',
} as const satisfies Record<string, resources.TriggerAction>
