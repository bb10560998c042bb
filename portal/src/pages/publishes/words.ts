/** Publishes in words. */
import type { Publish, PublishState, Trigger } from '../../api/types.ts'
import type { Tone } from '../../components/facts/pill.tsx'

export const STATES: Record<PublishState, { word: string; tone: Tone }> = {
  UNDER_WAY: { word: 'Under way', tone: 'busy' },
  VISIBLE: { word: 'Visible', tone: 'good' },
  UNCHANGED: { word: 'Unchanged', tone: 'idle' },
  HELD: { word: 'Held', tone: 'warn' },
  FAILED: { word: 'Failed', tone: 'bad' },
  CANCELLED: { word: 'Cancelled', tone: 'idle' },
  SUPERSEDED: { word: 'Superseded', tone: 'idle' },
}

export const TRIGGERS: Readonly<Partial<Record<Trigger, string>>> = {
  UPLOAD: 'Upload',
  REBUILD: 'Rebuild',
  CLEAN_REBUILD: 'Clean Rebuild',
  PURGE_CACHE: 'Purge cache',
}

export const KINDS: Record<Publish['kind'], string> = { BUILD: 'Builds', PURGE: 'Purges' }

/** The kind in the address; undefined if it asks for all, or for an unknown one. */
export const kindIn = (given: string | null): Publish['kind'] | undefined =>
  given !== null && Object.hasOwn(KINDS, given) ? (given as Publish['kind']) : undefined

/** What a user typed as a promise: null for none, undefined if it is no number of seconds. */
export function promiseIn(text: string): number | null | undefined {
  const typed = text.trim()
  if (typed === '') return null
  return /^[1-9]\d{0,5}$/.test(typed) ? Number(typed) : undefined
}
