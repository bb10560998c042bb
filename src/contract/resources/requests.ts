/** The log of requests to an environment, as the API shows it. */
import { array, boolean, integer, number, object, oneOf, optional, type Static, string, time } from '../schema.ts'

export const CACHE_RESULTS = ['hit', 'stale', 'miss', 'bypass', 'static', 'none'] as const
export const REQUEST_OUTCOMES = ['complete', 'aborted', 'broken'] as const

export const requestRecord = object(
  {
    number: integer({ description: 'Rises from one to the next; the id of its event in a stream.' }),
    time: time('When the response ended.'),
    method: string(),
    path: string({
      description:
        'As it was requested, without the query. `{id}`, `{email}` and `{token}` stand for what looks like one; a path of more than 512 characters ends with `…`.',
    }),
    parameters: array(string(), { description: 'The names of the parameters of the query; values are not recorded.' }),
    status: integer({ description: 'The status that the visitor got; 0 if the visitor left before.' }),
    durationMs: number({
      description:
        'From the arrival of the request until the response was sent; of a WebSocket (101), until it was closed. 0 for one that was in memory.',
    }),
    bytes: integer({ description: 'Sent to the visitor, headers included.' }),
    cache: oneOf(CACHE_RESULTS, {
      description:
        'As in Cache-Status: `hit` from the cache; `stale` from the cache, although out of date; `miss`, the app was asked; `bypass`, this request could not be answered from a cache; `static`, a file of the deployment; `none`, a page of Headland itself.',
    }),
    outcome: oneOf(REQUEST_OUTCOMES, {
      description:
        '`complete`; `aborted`, the visitor left before the end; `broken`, the app or Headland ended the response in the middle.',
    }),
    client: string({
      description: 'The network of the visitor, /24 for IPv4 and /48 for IPv6; empty where a proxy does not report it.',
    }),
    id: optional(
      string({ description: 'Of an error: the visitor sees it in `Headland-Request-Id`, and on pages of Headland.' }),
    ),
    omitted: integer({ description: 'So many requests of the same time were not recorded, as there were too many.' }),
  },
  { title: 'RequestRecord' },
)
export type RequestRecord = Static<typeof requestRecord>

export const requestRecords = object(
  {
    requests: array(requestRecord, { description: 'The newest first.' }),
    isRecorded: boolean({ description: 'False where requests are not recorded (`requestLog`).' }),
    nextPageToken: string({ description: 'Empty on the last page.' }),
  },
  { title: 'RequestRecordList' },
)
export type RequestRecords = Static<typeof requestRecords>

export const requestStatus = string({
  pattern: '^([1-5](xx|[0-9][0-9])|0)$',
  'x-form': 'must be a status such as 500, or a class such as 5xx',
  description: 'A status, as `500`, or a class of them, as `5xx`.',
})

export const requestPath = string({
  maxLength: 200,
  minLength: 1,
  description: 'A whole path, where `*` stands for any characters: `/blog*`, `/*/comments`.',
})
