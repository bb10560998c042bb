/** The newest work of an environment, so that a list of environments shows the state of each of them. */

import { boolean, object, oneOf, optional, type Static, string, time } from '../schema.ts'
import { BUILD_STATES, PHASES, TRIGGERS } from './operation.ts'

const reason = optional(
  string({ description: 'Why it failed: one of the reasons of the error reference. Absent where it did not.' }),
)

export const latestOperation = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/operations/{operation}`' }),
    trigger: oneOf(TRIGGERS, { description: 'What requested it.' }),
    phase: oneOf(PHASES),
    done: boolean(),
    build: string({ description: 'The build; ends in `/builds/no_build` where nothing is built.' }),
    reason,
    createTime: time('When it was requested.'),
  },
  {
    title: 'LatestOperation',
    description:
      'The newest operation that is under way, or that ended well or badly: no purge, and none that was cancelled or superseded.',
  },
)
export type LatestOperation = Static<typeof latestOperation>

export const latestBuild = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/builds/{build}`' }),
    state: oneOf(BUILD_STATES),
    phase: oneOf(PHASES),
    trigger: oneOf(TRIGGERS, { description: 'What requested it.' }),
    reason,
    createTime: time('When it was requested.'),
    finishTime: optional(time('When it ended.')),
  },
  { title: 'LatestBuild', description: 'The newest build, whether or not it went live.' },
)
export type LatestBuild = Static<typeof latestBuild>
