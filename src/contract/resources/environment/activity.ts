/** What each environment of an account does now, for a client that watches all of them. */
import { array, integer, nullable, object, oneOf, optional, type Static, string, time } from '../../schema.ts'
import { commitFields } from '../people.ts'
import { trafficPoint } from '../traffic.ts'

export const INSTANCE_STATES = ['STARTING', 'RUNNING', 'ASLEEP', 'RESTARTING', 'CRASH_LOOP'] as const
export type InstanceState = (typeof INSTANCE_STATES)[number]

export const activity = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/activity`' }),
    deployment: string({ description: 'The deployment that is live, or empty.' }),
    liveTime: optional(time('When that went live first.')),
    commit: nullable(commitFields, { description: 'The commit that it was built from, where that is known.' }),
    instance: optional(
      oneOf(INSTANCE_STATES, { description: 'The state of its app. Absent for files, and where nothing is live.' }),
    ),
    memoryBytes: integer({ description: 'What its processes use, as it was last measured; 0 without any.' }),
    points: array(trafficPoint, {
      description:
        'The visits of the last whole minute and of the current one. The edges report them every few seconds.',
    }),
  },
  { title: 'Activity' },
)
export type Activity = Static<typeof activity>
