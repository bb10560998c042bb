/** Why visitors see what they see at an address, as the API shows it. */
import { anyObject, array, boolean, integer, object, oneOf, optional, type Static, string, time } from '../schema.ts'

export const TRACED_EVENTS = ['TRIGGER', 'BUILD', 'LIVE', 'PURGE', 'STORED', 'VALIDATED', 'EXPIRED', 'NOW'] as const
export type TracedEvent = (typeof TRACED_EVENTS)[number]

export const ORIGIN_KINDS = ['NOTHING', 'FILE', 'REDIRECT', 'MISSING', 'APP', 'SILENT'] as const

export const COMPARISONS = ['SAME', 'DIFFERENT', 'UNKNOWN'] as const
export type Comparison = (typeof COMPARISONS)[number]

const storedObject = object(
  {
    status: integer(),
    storeTime: time('When the edge stored it.'),
    validateTime: time('When the app last confirmed that it is still valid, or when it was stored.'),
    ageSeconds: integer({ description: 'The value that the header `Age` would have now.' }),
    lifetimeSeconds: integer({ description: 'How old it may become before it is stale.' }),
    lifetimeFrom: string({ description: 'The header that says so, as `cache-control: s-maxage=60`.' }),
    fresh: boolean(),
    deployment: string({ description: 'The deployment that made it. It is used while that one is live.' }),
    bytes: integer(),
    tags: array(string()),
    variant: anyObject({
      description: 'The request headers that it is chosen by. Values that may be private are hidden.',
      additionalProperties: { type: 'string' },
    }),
    etag: optional(string()),
    lastModified: optional(string()),
    hits: integer({ description: 'How often it was served.' }),
    place: oneOf(['memory', 'disk']),
    comparison: oneOf(COMPARISONS, { description: 'With what the live deployment answers now.' }),
  },
  { title: 'StoredObject', description: 'A copy of a response, kept by the edge.' },
)

const origin = object(
  {
    kind: oneOf(ORIGIN_KINDS, {
      description:
        'NOTHING is deployed; a FILE; a REDIRECT between files; a file that is MISSING; an answer of the APP; an app that is SILENT.',
    }),
    detail: string({ description: 'The same, in words.' }),
    status: optional(integer()),
    file: optional(string({ description: 'The file in the output.' })),
    location: optional(string()),
    contentType: optional(string()),
    cacheControl: optional(string()),
    vary: optional(string()),
    etag: optional(string()),
    lastModified: optional(string()),
    setsCookie: optional(boolean({ description: 'Such an answer is never stored.' })),
    bytes: optional(integer()),
    digest: optional(string({ description: 'SHA-256 of the body, in hexadecimal.' })),
  },
  {
    title: 'Origin',
    description: 'What the live deployment itself answers now, past the cache. A sleeping app is not woken.',
  },
)

export const trace = object(
  {
    url: string({ description: 'The address that was looked at.' }),
    verdict: string({ description: 'Why visitors see what they see there, in a sentence.' }),
    deployment: optional(string({ description: 'The live deployment.' })),
    build: optional(string({ description: 'The build that it is of.' })),
    stored: array(storedObject, { description: 'What the edge has stored for this address.' }),
    origin,
    timeline: array(
      object({
        time: time('When it happened.'),
        what: oneOf(TRACED_EVENTS),
        detail: string({ description: 'What happened, in a sentence.' }),
        resource: optional(string({ description: 'The build, deployment or operation that it is about.' })),
      }),
      { description: 'What led there, the newest last.' },
    ),
  },
  { title: 'Trace' },
)
export type Trace = Static<typeof trace>
