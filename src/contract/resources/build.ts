/** Builds as callers see them, and the plan that one would follow. */

import { anyObject, array, boolean, integer, object, oneOf, optional, type Static, string, time } from '../schema.ts'
import { contactOutcome, held } from './held.ts'
import { BUILD_STATES, PHASES, TRIGGERS, waiting } from './operation.ts'
import { described, requestedBy } from './people.ts'
import { promotedFrom } from './previews.ts'
import { fromSnapshot } from './snapshots/snapshots.ts'

const plan = anyObject({
  title: 'Plan',
  description: 'What was detected, and what is done: framework, commands, output.',
})

export const archive = object({ digest: string(), bytes: integer(), files: integer() })

export const build = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/builds/{build}`' }),
    state: oneOf(BUILD_STATES),
    phase: oneOf(PHASES),
    trigger: oneOf(TRIGGERS),
    clean: boolean({ description: 'Whether it started without anything kept from earlier builds.' }),
    unchanged: boolean({
      description: 'Whether visitors got this output already: nothing was switched, and the cache was kept.',
    }),
    requestedBy,
    ...described,
    promotedFrom: optional({
      ...promotedFrom,
      description: 'If it was promoted: where from. With the trigger PROMOTE, the output is that of this build.',
    }),
    archive,
    plan: optional(plan),
    tools: optional(
      object(
        { node: string(), packageManager: optional(string({ description: 'As `pnpm 10.34.9`.' })) },
        { title: 'Tools', description: 'The exact versions that it was made with, and that its app runs on.' },
      ),
    ),
    warnings: array(string(), {
      description:
        'What works today and should be changed, such as a Node.js version that no longer gets security fixes, and what to do. As of now.',
    }),
    caches: array(
      object({
        cache: oneOf(['packages', 'store', 'compile']),
        state: oneOf(['HIT', 'MISS', 'DROPPED'], {
          description: '`HIT`: something of an earlier build was reused.',
        }),
        bytes: integer({ description: 'How much that was.' }),
        savedBytes: optional(integer({ description: 'How much is kept for the next build.' })),
      }),
      {
        description:
          'What was kept from earlier builds: installed packages, the store of the package manager, what compilers left.',
      },
    ),
    contacts: optional(
      array(
        object({
          host: optional(string({ description: 'The name that was asked for.' })),
          addresses: array(string()),
          protocol: oneOf(['tcp', 'udp', 'dns']),
          port: optional(integer()),
          new: boolean({ description: 'Whether the previous build did not contact it.' }),
          refused: boolean({ description: 'Whether the network blocked it.' }),
          outcome: optional(contactOutcome),
        }),
        {
          description:
            'The hosts that it contacted over the network, if the machine records that. Not in lists: read the build itself.',
        },
      ),
    ),
    held: optional(held),
    fromSnapshot: optional(fromSnapshot),
    waiting: optional(waiting),
    image: optional(
      string({
        description:
          'The image of its output in the registry of the service, as tools for containers take it: `registry.example.com/headland/account/app@sha256:…`. None where the service has no registry, or the output is not kept any more.',
      }),
    ),
    createTime: time('When it was requested.'),
    startTime: optional(time('When work on it began.')),
    finishTime: optional(time('When it ended.')),
    durations: anyObject({ description: 'Seconds of each phase.', additionalProperties: { type: 'number' } }),
    failure: optional(
      object(
        {
          reason: string({ description: 'One of the reasons of the error reference.' }),
          fault: oneOf(['caller', 'app', 'service']),
          retryable: boolean(),
          message: string(),
          logLine: integer({ description: 'The line of the log that shows it; 0 where none does.' }),
          cause: string({ description: 'Where the cause is: in the app, the network, the request or the service.' }),
          todo: string({ description: 'What to do about it; empty where the message says it.' }),
          page: string({
            description: 'The page of the documentation about it, as a path under the address of the service.',
          }),
          changes: array(string(), { description: 'What differs from the last successful build.' }),
        },
        { title: 'BuildFailure' },
      ),
    ),
    firstFailure: optional(
      object(
        {
          reason: string({ description: 'One of the reasons of the error reference.' }),
          message: string(),
          logLine: integer({ description: 'The line of the log that shows it; 0 where none does.' }),
          retriedBecause: string({ description: 'Why it is tried once more without caches.' }),
        },
        { title: 'FirstFailure', description: 'Why the first of two attempts failed, as soon as that is known.' },
      ),
    ),
  },
  { title: 'Build' },
)
export type Build = Static<typeof build>

export const validatedPlan = object(
  { plan },
  { title: 'ValidatedPlan', description: 'What a build would do; nothing was done.' },
)
