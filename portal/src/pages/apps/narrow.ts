/** Filters apps and environments by a state and by all words of a search. */

import { environmentState } from '../../api/live/state.ts'
import { idOf } from '../../api/names.ts'
import type { App, Environment } from '../../api/types.ts'

export type AppWithEnvironments = { app: App; environments: readonly Environment[] }
/** `environments` are the ones that are shown. */
export type Narrowed = AppWithEnvironments & { total: number }

/** By their value in the address, with the text that is shown. */
export const STATES = { failed: 'Failed', working: 'Working', live: 'Live', empty: 'Empty' } as const
export type StateFilter = keyof typeof STATES

export const stateIn = (text: string | null): StateFilter | undefined =>
  text !== null && Object.hasOwn(STATES, text) ? (text as StateFilter) : undefined

/** A live site whose build failed counts as both. */
export function isOf(environment: Environment, state: StateFilter): boolean {
  const { tone } = environmentState(environment)
  switch (state) {
    case 'failed':
      return tone === 'bad' || tone === 'warn'
    case 'working':
      return tone === 'busy'
    case 'live':
      return environment.state === 'LIVE'
    case 'empty':
      return environment.state === 'EMPTY'
  }
}

/** How many environments each state has. */
export function countsOf(apps: readonly AppWithEnvironments[]): Record<StateFilter, number> {
  const all = apps.flatMap(({ environments }) => environments)
  const count = (state: StateFilter) => all.filter((each) => isOf(each, state)).length
  return { failed: count('failed'), working: count('working'), live: count('live'), empty: count('empty') }
}

/** An app whose name contains all words is shown with all its environments, another app with the matching ones. */
export function narrow(
  apps: readonly AppWithEnvironments[],
  { search, state }: { search: string; state: StateFilter | undefined },
): Narrowed[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const hasAll = (text: string) => words.every((word) => text.toLowerCase().includes(word))
  return apps.flatMap(({ app, environments }) => {
    const name = idOf(app.name)
    const ofState = state ? environments.filter((each) => isOf(each, state)) : environments
    const found = hasAll(name) ? ofState : ofState.filter((each) => hasAll(`${name} ${textOf(each)}`))
    const isShown = found.length > 0 || (state === undefined && hasAll(name))
    return isShown ? [{ app, environments: found, total: environments.length }] : []
  })
}

const textOf = ({ displayName, cmsEnvironment, url, domains }: Environment): string =>
  [displayName, cmsEnvironment, url, ...domains].join(' ')
