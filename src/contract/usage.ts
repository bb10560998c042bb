/** How much is kept on the disk, as the API shows it. */
import { array, integer, object, oneOf, type Static, string, time } from './schema.ts'

export const USAGE_KINDS = ['ARCHIVES', 'OUTPUTS', 'PACKAGES', 'CACHES', 'LOGS', 'RUNS'] as const
export type UsageKind = (typeof USAGE_KINDS)[number]

const kind = oneOf(USAGE_KINDS, {
  description:
    'ARCHIVES that a rebuild may start from; OUTPUTS of deployments that can be made live; installed PACKAGES; CACHES of builds; LOGS; what apps write in RUNS, with what they keep in the key-value store.',
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

export const accountUsage = object(
  {
    name: string({ description: '`accounts/{account}/usage`' }),
    bytes: integer({ description: 'All kinds together; what several environments share counts once.' }),
    limitBytes: integer({ description: 'How much the account may hold; 0 where there is no limit.' }),
    files: integer({ description: 'Files, folders and links; what several environments share counts once.' }),
    limitFiles: integer({ description: 'How many the account may hold; 0 where there is no limit.' }),
    kinds: array(object({ kind, bytes: integer() })),
    environments: array(object({ environment: string(), bytes: integer() }), {
      description: 'Those that hold the most, with what they share.',
    }),
  },
  { title: 'AccountUsage' },
)
export type AccountUsage = Static<typeof accountUsage>
