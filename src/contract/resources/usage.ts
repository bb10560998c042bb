/** The disk space in use, as the API shows it. */
import { CEILING_KINDS } from '../ceilings.ts'
import { array, integer, object, oneOf, type Static, string, time } from '../schema.ts'

export const USAGE_KINDS = [
  'ARCHIVES',
  'REPOSITORIES',
  'SNAPSHOTS',
  'OUTPUTS',
  'PACKAGES',
  'CACHES',
  'LOGS',
  'RUNS',
] as const
export type UsageKind = (typeof USAGE_KINDS)[number]

const kind = oneOf(USAGE_KINDS, {
  description:
    'ARCHIVES that a rebuild may start from; REPOSITORIES, what was pushed to apps, which no environment has for itself; SNAPSHOTS of content that builds got from a CMS; OUTPUTS of deployments that can be made live; installed PACKAGES; CACHES of builds; LOGS; what apps write in RUNS, with what they keep in the key-value store.',
})

export const environmentUsage = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/usage`' }),
    bytes: integer({ description: 'All kinds together.' }),
    files: integer({ description: 'Files, folders and links of all kinds together.' }),
    kinds: array(
      object({
        kind,
        bytes: integer(),
        sharedBytes: integer({ description: 'How much of it other environments of the account hold, too.' }),
      }),
    ),
    measureTime: time('When caches, logs and runs were measured.'),
  },
  { title: 'EnvironmentUsage' },
)
export type EnvironmentUsage = Static<typeof environmentUsage>

const counted = object(
  {
    kind: oneOf(CEILING_KINDS, {
      description:
        'APPS and ENVIRONMENTS, also while they are being deleted; custom DOMAINS of all environments; API CREDENTIALS; AWAKE_APPS; the bytes of APP_MEMORY that they use, and those that keep their memory while they sleep; RUNNING_BUILDS.',
    }),
    used: integer({ description: 'How many there are now.' }),
    limit: integer({ description: 'How many there may be; 0 where there is no limit.' }),
    setting: string({ description: 'By which the operator changes the limit.' }),
  },
  { title: 'Counted' },
)
export type Counted = Static<typeof counted>

export const accountUsage = object(
  {
    name: string({ description: '`accounts/{account}/usage`' }),
    bytes: integer({ description: 'All kinds together; what several environments share counts once.' }),
    limitBytes: integer({ description: 'How much the account may hold; 0 where there is no limit.' }),
    files: integer({ description: 'Files, folders and links; what several environments share counts once.' }),
    limitFiles: integer({ description: 'How many the account may hold; 0 where there is no limit.' }),
    kinds: array(object({ kind, bytes: integer() })),
    environments: array(object({ environment: string(), displayName: string(), bytes: integer() }), {
      description: 'Those that hold the most, with what they share.',
    }),
    ceilings: array(counted, { description: 'What else is limited for an account.' }),
  },
  { title: 'AccountUsage' },
)
export type AccountUsage = Static<typeof accountUsage>
