/** How much an environment is visited, as the API shows it. */
import { array, boolean, integer, number, object, oneOf, type Static, string, time } from '../schema.ts'

export const TRAFFIC_RANGES = ['1h', '24h', '7d', '30d'] as const
export type TrafficRange = (typeof TRAFFIC_RANGES)[number]

export const trafficRange = oneOf(TRAFFIC_RANGES, { description: 'How far back; `24h` unless given.' })

const counts = {
  requests: integer({ description: 'Requests to the site, including those that were refused or broken off.' }),
  hits: integer({ description: 'Requests that were answered without the app: from the cache, or as files.' }),
  bytes: integer({ description: 'Bytes sent to visitors, headers included.' }),
  status2xx: integer({ description: 'Answers with a status of 200 to 299.' }),
  status3xx: integer({ description: 'Redirects, and answers that the copy of the visitor is still valid (304).' }),
  status4xx: integer({ description: 'Answers with a status of 400 to 499: 404 where there is no such page.' }),
  errors: integer({ description: 'Answers with a status of 500 and above.' }),
  p50Ms: number({
    description: 'Milliseconds until the answer began, for half of the requests. Estimated from a histogram.',
  }),
  p95Ms: number({ description: 'The same, for 95 of 100 requests.' }),
}

export const trafficPoint = object({ time: time('When it begins.'), ...counts }, { title: 'TrafficPoint' })
export type TrafficPoint = Static<typeof trafficPoint>

export const traffic = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/traffic`' }),
    stepSeconds: integer({ description: 'How long each point lasts.' }),
    points: array(trafficPoint, {
      description: 'The oldest first, without a gap; the last one is not over yet.',
    }),
    totals: object(counts, { title: 'TrafficTotals', description: 'All points together.' }),
  },
  { title: 'Traffic' },
)
export type Traffic = Static<typeof traffic>

const hourly = (what: string) => array(integer(), { description: `${what}, for each step.` })

export const trafficSummary = object(
  {
    environment: string({ description: '`accounts/…/environments/{environment}`' }),
    startTime: time('When the first step begins.'),
    stepSeconds: integer({ description: 'How long each step lasts. There are 24, and the last one is not over yet.' }),
    requests: hourly('Requests to the site'),
    hits: hourly('Requests that were answered without the app'),
    errors: hourly('Answers with a status of 500 and above'),
  },
  { title: 'TrafficSummary', description: 'The traffic of an environment in the last 24 hours.' },
)
export type TrafficSummary = Static<typeof trafficSummary>

const pathCount = object(
  {
    path: string({
      description:
        'As it was requested, without the query. `{id}`, `{email}` and `{token}` stand for what looks like one.',
    }),
    requests: integer({ description: 'Never too high; a little too low if very many paths were requested.' }),
  },
  { title: 'PathCount' },
)
export type PathCount = Static<typeof pathCount>

export const trafficPaths = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/trafficPaths`' }),
    isCounted: boolean({ description: 'False where the operator has switched it off (`countPaths`).' }),
    startTime: time('Since when they are counted: the beginning of an hour, or of a day in UTC for 7d and 30d.'),
    top: array(pathCount, {
      description: 'Paths with a successful answer, the most requested first. Files that pages load are left out.',
    }),
    missing: array(pathCount, { description: 'Paths that were answered with 404 or 410, the most requested first.' }),
  },
  { title: 'TrafficPaths' },
)
export type TrafficPaths = Static<typeof trafficPaths>
