/** An operation as callers see it: work that was requested and can be watched. */
import { LIMITS } from '../limits.ts'
import { anyObject, array, boolean, integer, object, oneOf, optional, type Static, string, time } from '../schema.ts'
import { described, requestedBy } from './people.ts'

export const OPERATION_METADATA_TYPE = 'type.googleapis.com/headland.apps.v1.UpdateEnvironmentMetadata'

export const PHASES = [
  'QUEUED',
  'UNPACKING',
  'PLANNING',
  'INSTALLING',
  'BUILDING',
  'STARTING',
  'SWITCHING',
  'DONE',
] as const
export type Phase = (typeof PHASES)[number]

export const TRIGGERS = [
  'CREATE',
  'UPDATE',
  'DELETE',
  'UPLOAD',
  'REBUILD',
  'CLEAN_REBUILD',
  'ACTIVATE',
  'PROMOTE',
  'PURGE_CACHE',
] as const
export type Trigger = (typeof TRIGGERS)[number]

export const BUILD_STATES = ['QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type BuildState = (typeof BUILD_STATES)[number]

export const WAITING_REASONS = ['QUIET_PERIOD', 'ENVIRONMENT', 'MACHINE', 'NEXT'] as const
export type WaitingReason = (typeof WAITING_REASONS)[number]

export const waiting = object(
  {
    reason: oneOf(WAITING_REASONS, {
      description:
        '`QUIET_PERIOD`: for further calls. `ENVIRONMENT`: for another operation of its environment. `MACHINE`: for others on this machine. `NEXT`: it begins at once.',
    }),
    ahead: integer({ description: 'How many end or begin before it.' }),
    message: string({ description: 'The same in words.' }),
  },
  { title: 'Waiting', description: 'Why it has not started.' },
)
export type Waiting = Static<typeof waiting>

export const operationFields = {
  name: string({ description: '`accounts/…/environments/{environment}/operations/{operation}`' }),
  metadata: object({
    '@type': string(),
    build: string({ description: 'The build; ends in `/builds/no_build` where nothing is built.' }),
    deployment: string({ description: 'The deployment; empty until traffic is switched to it.' }),
    unchanged: optional(
      boolean({ description: 'True if visitors got the output already: the live deployment stays live.' }),
    ),
    createTime: time('When it was requested.'),
    phase: oneOf(PHASES),
    trigger: oneOf(TRIGGERS, { description: 'What requested it.' }),
    requestedBy,
    ...described,
    queuePosition: optional(integer({ description: 'While it waits: how many builds are before it, and itself.' })),
    waiting: optional(waiting),
    settlesUntil: optional(
      time('While it waits for a burst of calls to settle: when it begins if no further call comes.'),
    ),
    triggers: optional(
      array(string(), {
        description: `The calls that it satisfies, the newest first, at most ${LIMITS.triggersShown}; where one operation is read.`,
      }),
    ),
    triggerCount: optional(integer({ description: 'How many calls it satisfies; where one operation is read.' })),
  }),
  done: boolean(),
  response: optional(anyObject({ description: 'If it succeeded: the environment, or `{}` if it is deleted.' })),
  error: optional(
    object(
      { code: integer(), message: string(), details: array(anyObject()) },
      { title: 'OperationError', description: 'If it failed: google.rpc.Status.' },
    ),
  ),
}

export const operation = object(operationFields, { title: 'Operation' })
export type Operation = Static<typeof operation>
