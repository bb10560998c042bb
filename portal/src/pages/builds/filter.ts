/** Which builds the list shows. The filter is in the query of the page's address, so that a view can be shared. */
import type { Build, Trigger } from '../../api/types.ts'

export type BuildFilter = { state: string; trigger: string }

type State = Build['state']

export const STATES: readonly { value: string; text: string; states: readonly State[] }[] = [
  { value: 'running', text: 'Waiting or running', states: ['QUEUED', 'RUNNING'] },
  { value: 'succeeded', text: 'Succeeded', states: ['SUCCEEDED'] },
  { value: 'failed', text: 'Failed', states: ['FAILED'] },
  { value: 'cancelled', text: 'Cancelled', states: ['CANCELLED'] },
]

export const TRIGGERS: readonly { value: string; text: string; trigger: Trigger }[] = [
  { value: 'upload', text: 'Upload', trigger: 'UPLOAD' },
  { value: 'rebuild', text: 'Rebuild', trigger: 'REBUILD' },
  { value: 'clean-rebuild', text: 'Clean Rebuild', trigger: 'CLEAN_REBUILD' },
]

/** A filter that the address does not name, or names with an unknown value, is not applied. */
export function readFilter(query: URLSearchParams): BuildFilter {
  const known = (value: string | null, of: readonly { value: string }[]) =>
    of.some((each) => each.value === value) ? (value ?? '') : ''
  return { state: known(query.get('state'), STATES), trigger: known(query.get('trigger'), TRIGGERS) }
}

export const writeFilter = (filter: BuildFilter): Record<string, string> =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''))

export function isWanted(build: Build, { state, trigger }: BuildFilter): boolean {
  const states = STATES.find(({ value }) => value === state)?.states
  const wanted = TRIGGERS.find(({ value }) => value === trigger)?.trigger
  return (states === undefined || states.includes(build.state)) && (wanted === undefined || build.trigger === wanted)
}
