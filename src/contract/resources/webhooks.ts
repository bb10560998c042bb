/** Webhooks as callers see them: the set of an environment, the answer to a call, and the ledger of all calls. */
import { LIMITS } from '../limits.ts'
import {
  array,
  boolean,
  integer,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  string,
  time,
  without,
} from '../schema.ts'
import { operationFields, PHASES } from './operation.ts'
import { commitFields, requestedBy } from './people.ts'

/** As they are written in a webhook's URL. */
export const WEBHOOK_ACTIONS = ['rebuild', 'cleanRebuild', 'purgeCache'] as const
export type WebhookAction = (typeof WEBHOOK_ACTIONS)[number]

export const webhookAction = oneOf(WEBHOOK_ACTIONS, {
  description: 'Rebuild; rebuild without anything that the framework has cached; or purge what the edge has stored.',
})

const quietSeconds = integer({
  minimum: 0,
  maximum: LIMITS.quietSeconds,
  description: 'A build that webhooks requested begins when no further call came for this many seconds. 0: at once.',
})
const maxQuietSeconds = integer({
  minimum: 0,
  maximum: LIMITS.maxQuietSeconds,
  description: 'The build begins at most this many seconds after the first call, however many calls come.',
})
/** In answers and in changes for one version after the rename, so that clients can follow. */
const quietSecondsMost = optional(
  integer({
    minimum: 0,
    maximum: LIMITS.maxQuietSeconds,
    deprecated: true,
    description: 'The former name of `maxQuietSeconds`, which the next version removes.',
  }),
)

const setOf = <Url extends Record<string, ReturnType<typeof string>>>(url: Url) => ({
  name: string({ description: '`accounts/…/environments/{environment}/webhooks`' }),
  webhooks: array(
    object({
      action: webhookAction,
      ...url,
      lastUseTime: optional(time('When the URL was last called, since it was made.')),
    }),
    { description: 'One for each action.' },
  ),
  quietSeconds,
  maxQuietSeconds,
  quietSecondsMost,
  createTime: time('When the set was made.'),
  regenerateTime: time('When its URLs were made.'),
})

export const webhookSet = object(setOf({}), {
  title: 'WebhookSet',
  description: 'The webhooks of an environment, which are made, regenerated and deleted together.',
})
export type WebhookSet = Static<typeof webhookSet>

export const issuedWebhookSet = object(
  setOf({ url: string({ description: 'To be called by POST. It contains a token, and is shown only once.' }) }),
  { title: 'IssuedWebhookSet' },
)
export type IssuedWebhookSet = Static<typeof issuedWebhookSet>

export const changedWebhookSet = object(
  { quietSeconds: optional(quietSeconds), maxQuietSeconds: optional(maxQuietSeconds), quietSecondsMost },
  { title: 'ChangedWebhookSet', description: 'Absent fields keep their values.' },
)
export type ChangedWebhookSet = Static<typeof changedWebhookSet>

/** Some plugins show this part to the editor who pressed their button. */
const job = object(
  {
    id: string({ description: 'Id of the operation.' }),
    state: oneOf(['PENDING', 'DONE']),
    createdAt: integer({ description: 'Milliseconds since 1970.' }),
  },
  { description: 'The same operation, in the form that plugins for other hosts expect.' },
)

export const webhookAnswer = object(
  {
    ...operationFields,
    // The caller holds a token, and is no member of the account.
    metadata: without(operationFields.metadata, 'requestedBy', 'message', 'commit'),
    job,
  },
  {
    title: 'WebhookAnswer',
    description: 'The operation that satisfies the call. What a token cannot see is left out.',
  },
)
export type WebhookAnswer = Static<typeof webhookAnswer>

export const WEBHOOK_OPERATION_STATES = ['WAITING', 'BUILDING', 'LIVE', 'PURGED', 'FAILED', 'CANCELLED'] as const
export type WebhookOperationState = (typeof WEBHOOK_OPERATION_STATES)[number]

/** Every field that is added here can be read with a webhook's token. */
export const webhookOperation = object(
  {
    name: string({
      description: 'The operation that satisfies the call. Another one may have taken the place of the one asked for.',
    }),
    state: oneOf(WEBHOOK_OPERATION_STATES, {
      description: 'LIVE: visitors get what was built. PURGED: the cache was purged, and nothing is built.',
    }),
    phase: oneOf(PHASES),
    done: boolean({ description: 'Whether the state is final.' }),
    waitingUntil: optional(
      time('While it waits for a burst of calls to settle: when it begins if no further call comes.'),
    ),
    reason: optional(string({ description: 'Why it failed: one of the reasons of the error reference.' })),
    message: optional(string({ description: 'The reason in words. What the build wrote is not in it.' })),
    buildUrl: string({
      description: 'The page of the build in the portal, for those who may log in; empty for a purge.',
    }),
    siteUrl: string({ description: 'Where the site answers.' }),
    createTime: time('When it was requested.'),
  },
  {
    title: 'WebhookOperation',
    description: 'The result of a webhook call, as far as its own token may read it.',
  },
)
export type WebhookOperation = Static<typeof webhookOperation>

export const TRIGGER_ACTIONS = ['REBUILD', 'CLEAN_REBUILD', 'PURGE_CACHE'] as const
export type TriggerAction = (typeof TRIGGER_ACTIONS)[number]

/** What the ledger records: a push, here or to the connected repository, brings what is to be built with it. */
export const RECORDED_ACTIONS = [...TRIGGER_ACTIONS, 'DEPLOY'] as const
export type RecordedAction = (typeof RECORDED_ACTIONS)[number]

/** The action of each webhook. */
export const ACTION_OF_WEBHOOK: Record<WebhookAction, TriggerAction> = {
  rebuild: 'REBUILD',
  cleanRebuild: 'CLEAN_REBUILD',
  purgeCache: 'PURGE_CACHE',
}

export const TRIGGER_SOURCES = ['WEBHOOK', 'API', 'SCHEDULE', 'PUSH', 'REPOSITORY', 'APP', 'SERVICE'] as const
export type TriggerSource = (typeof TRIGGER_SOURCES)[number]

export const recordedTrigger = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/triggers/{trigger}`' }),
    action: oneOf(RECORDED_ACTIONS),
    source: oneOf(TRIGGER_SOURCES, {
      description:
        'A webhook, the API, a schedule, a push to a branch, the connected repository, the app itself, or the service, which tries held builds again.',
    }),
    requestedBy,
    createTime: time('When it came.'),
    address: string({ description: 'Where it came from; empty for schedules, the app itself and the service.' }),
    userAgent: string({ description: 'The User-Agent of the caller.' }),
    answer: integer({ description: 'HTTP status that it was answered with.' }),
    reason: optional(string({ description: 'Why it was refused: one of the reasons of the error reference.' })),
    operation: string({ description: 'The operation that satisfied it; empty where none did.' }),
    commit: nullable(commitFields, {
      description: 'The git commit that this operation builds; null where it builds none, or is not kept any more.',
    }),
    forced: optional(
      boolean({ description: 'True where it goes live, whatever a check finds: forced, or a held one made live.' }),
    ),
    fromSnapshot: optional(
      time('The CMS was down: the build was made from the content that was recorded at this time.'),
    ),
    purged: optional(
      object(
        {
          paths: optional(array(string())),
          tags: optional(array(string())),
          content: optional(
            array(string(), {
              description: 'The first items of content that changed, in words, where the CMS named them.',
            }),
          ),
          count: integer({ description: 'Of all paths and tags; 0 where everything was purged.' }),
        },
        { title: 'Purged', description: 'The first paths and tags of a purge.' },
      ),
    ),
  },
  { title: 'Trigger', description: 'One entry of the ledger: a request for a build or a purge.' },
)
export type RecordedTrigger = Static<typeof recordedTrigger>
