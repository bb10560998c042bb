/** How much an environment is visited, as the API shows it. */
import { array, integer, number, object, oneOf, type Static, string, time } from './schema.ts'

export const TRAFFIC_RANGES = ['1h', '24h', '7d', '30d'] as const
export type TrafficRange = (typeof TRAFFIC_RANGES)[number]

export const trafficRange = oneOf(TRAFFIC_RANGES, { description: 'How far back; `24h` unless given.' })

const counts = {
  requests: integer({ description: 'Requests to the site, each once, also those that were refused or broken off.' }),
  hits: integer({ description: 'Those of them that were answered without asking the app: stored, or files.' }),
  bytes: integer({ description: 'Bytes sent to visitors, headers included.' }),
  errors: integer({ description: 'Answers with a status of 500 and above.' }),
  p50Ms: number({
    description:
      'Milliseconds until the answer began, for half of the requests. Told from a histogram, so about right.',
  }),
  p95Ms: number({ description: 'The same, for 95 of 100 requests.' }),
}

export const traffic = object(
  {
    name: string({ description: '`accounts/…/environments/{environment}/traffic`' }),
    stepSeconds: integer({ description: 'How long each point lasts.' }),
    points: array(object({ time: time('When it begins.'), ...counts }, { title: 'TrafficPoint' }), {
      description: 'The oldest first, without a gap; the last one is not over yet.',
    }),
    totals: object(counts, { title: 'TrafficTotals', description: 'All points together.' }),
  },
  { title: 'Traffic' },
)
export type Traffic = Static<typeof traffic>
