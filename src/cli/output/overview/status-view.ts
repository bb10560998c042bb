/** All environments of an account at a glance, as lines and as JSON. Pure. */
import { appOf, type Watched } from '../../all-environments.ts'
import { fixed, type Line } from '../live/lines.ts'
import { commitInWords } from '../people.ts'
import { tableFor, when } from '../rows.ts'
import { describe, MARKS, type State, sorted } from './environment-state.ts'

type Shown = { isShown: boolean; columns: number; nowMs: number }

const NARROW = {
  shortened: ['about', 'commit', 'environment', 'app'],
  leftOut: ['about', 'deployed', 'commit'],
}

export function statusLines(all: readonly Watched[], { isShown, columns, nowMs }: Shown): Line[] {
  const rows = sorted(all).map((one) => {
    const { state, since, about } = describe(one)
    return {
      app: appOf(one.environment),
      environment: one.environment.displayName,
      state: isShown ? `${MARKS[state].mark} ${state}` : state,
      since: when({ isShown }, since, nowMs),
      deployed: when({ isShown }, one.activity?.liveTime, nowMs),
      commit: commitInWords(one.activity?.commit),
      url: one.environment.url,
      about,
    }
  })
  const [heading = '', ...lines] = tableFor({ isShown, columns: () => columns }, rows, NARROW).split('\n')
  const states = sorted(all).map((one) => describe(one).state)
  return [[fixed(heading, 'dim')], ...lines.map((line, at) => inColour(line, states[at] ?? 'live'))]
}

/** `3 live, 1 failed`, the worst first. */
export function countsInWords(all: readonly Watched[]): string {
  const states = sorted(all).map((one) => describe(one).state)
  return [...new Set(states)].map((state) => `${states.filter((one) => one === state).length} ${state}`).join(', ')
}

export const statusJson = (all: readonly Watched[]) =>
  sorted(all).map((one) => ({
    name: one.environment.name,
    app: appOf(one.environment),
    environment: one.environment.displayName,
    ...describe(one),
    deployment: one.environment.deployment,
    deployed: one.activity?.liveTime ?? '',
    commit: one.activity?.commit ?? null,
    url: one.environment.url,
  }))

/** The mark and the state are coloured. */
export function inColour(line: string, state: State): Line {
  const { mark, colour } = MARKS[state]
  const at = line.indexOf(`${mark} ${state}`)
  if (at < 0 || colour === undefined) return [fixed(line)]
  const end = at + mark.length + 1 + state.length
  return [fixed(line.slice(0, at)), fixed(line.slice(at, end), colour), fixed(line.slice(end))]
}
