/** Snapshots of what a CMS answered to a build: which hosts, and what changed from one build to another. */
import { LIMITS } from '../../limits.ts'
import { array, integer, nullable, object, optional, type Static, string, time } from '../../schema.ts'

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'

/** From 1 to 65535. */
const PORT = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'

const contentHost = string({
  maxLength: LIMITS.contentSnapshotHostLength,
  // The last label begins with a letter, so that it is no address. `localhost` never asks for a name.
  pattern: `^(?!.*localhost(:|$))(${LABEL}\\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?(:${PORT})?$`,
  'x-form': 'must be a host name in lower case, as cms.example.com or cms.example.com:8443, and no address',
  description:
    'A host name, with a port beside 80 and 443 where it has one: `cms.example.com`, `cms.example.com:8443`.',
})

/** `null`: nothing is recorded. */
export const contentSnapshots = nullable(
  object(
    {
      hosts: array(contentHost, {
        minItems: 1,
        maxItems: LIMITS.contentSnapshotHosts,
        description: 'The servers whose answers are recorded.',
      }),
    },
    { title: 'ContentSnapshots' },
  ),
  {
    description:
      'What these servers answer to a build is recorded. While one of them is down, a rebuild runs from the last recorded answers. Null: off.',
  },
)
export type ContentSnapshots = Static<typeof contentSnapshots>

/** On a build. */
export const fromSnapshot = object(
  {
    build: string({ description: 'The build that recorded the content.' }),
    time: time('How old the content is: when it was recorded.'),
    host: string({ description: 'The server that failed, as `host:port`.' }),
    message: string({ description: 'Why, in words.' }),
  },
  {
    title: 'FromSnapshot',
    description:
      'The CMS was down, so this build was made from the content of an earlier one. The service builds again when the CMS is back.',
  },
)
export type FromSnapshot = Static<typeof fromSnapshot>

const asked = {
  method: string(),
  url: string({ description: 'Without values that may be secrets.' }),
  query: optional(string({ description: 'What a query of GraphQL asks for, in short.' })),
}

const askedContent = object({ ...asked, status: integer() }, { title: 'AskedContent' })

const contentChange = object(
  {
    path: string({ description: 'Where in the JSON, as `posts[12].title.rendered`; items of lists by their ids.' }),
    before: optional(string({ description: 'Cut off where it is long. Absent: it is new.' })),
    after: optional(string({ description: 'Cut off where it is long. Absent: it is gone.' })),
  },
  { title: 'ContentChange' },
)

const changedContent = object(
  {
    ...asked,
    statusBefore: integer(),
    statusAfter: integer(),
    changes: array(contentChange, { description: 'The first of them; none where the answers are no JSON.' }),
    moreChanges: integer({ description: 'How many more there are.' }),
    ids: array(string(), { description: 'Ids of the items that changed, where the JSON has some.' }),
  },
  { title: 'ChangedContent' },
)

export const contentDiffQuery = object({
  from: string({ maxLength: 64, description: 'The id of the build to compare with.' }),
})

const MOST = 'At most 200 are listed.'

export const contentDiff = object(
  {
    from: string({ description: 'The build that is compared with.' }),
    fromTime: time('When its content was recorded.'),
    to: string({ description: 'The build that was asked for.' }),
    toTime: time('When its content was recorded.'),
    counts: object({ added: integer(), removed: integer(), changed: integer(), unchanged: integer() }),
    added: array(askedContent, { description: `What only the build that was asked for fetched. ${MOST}` }),
    removed: array(askedContent, { description: `What only the other one fetched. ${MOST}` }),
    changed: array(changedContent, { description: `What both fetched, with other answers. ${MOST}` }),
  },
  { title: 'ContentDiff', description: 'What changed in the content from one build to another.' },
)
export type ContentDiff = Static<typeof contentDiff>
