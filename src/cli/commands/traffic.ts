/** How much a site is visited: totals, the paths that are visited most, and those that are asked for and missing. */
import { ENVIRONMENT, type PathCount, type Traffic } from '../../client/index.ts'
import { optionText, type resources, table } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { factsOf, oneLine, sizeOf } from '../output/rows.ts'
import { atEnvironment } from '../project/where.ts'

/** Of each list; `--json` prints all that the service sends. */
const PATHS_SHOWN = 10

export async function showTraffic(call: ClientCall): Promise<undefined> {
  const { terminal, options } = call
  const range = (optionText(options, 'range') ?? '24h') as resources.TrafficRange
  const { service, names: path } = await atEnvironment(call)
  const [traffic, paths] = await Promise.all([
    service.client.call(`GET ${ENVIRONMENT}/traffic`, { path, query: { range } }),
    service.client.call(`GET ${ENVIRONMENT}/trafficPaths`, { path, query: { range } }),
  ])
  if (options.json) return void terminal.print(JSON.stringify({ traffic, paths }))
  const { totals } = traffic
  if (totals.requests === 0) return void terminal.say(`No visits within ${range}.`)
  terminal.print(factsOf(facts(totals)))
  if (!paths.isCounted)
    return void terminal.say('Paths are not counted here: the operator has switched it off (countPaths).')
  printPaths('MOST VISITED', paths.top)
  printPaths('MISSING (404)', paths.missing)

  function printPaths(heading: string, counts: readonly PathCount[]) {
    if (counts.length === 0) return
    const rows = counts
      .slice(0, PATHS_SHOWN)
      .map(({ path, requests }) => ({ requests: String(requests), [heading]: oneLine(path) }))
    terminal.print(`\n${table(rows)}`)
  }
}

const facts = (totals: Traffic['totals']) => ({
  requests: String(totals.requests),
  status: [
    `2xx ${totals.status2xx}`,
    `3xx ${totals.status3xx}`,
    `4xx ${totals.status4xx}`,
    `5xx ${totals.errors}`,
  ].join(', '),
  'from the edge': `${Math.floor((100 * totals.hits) / totals.requests)}%`,
  sent: sizeOf(totals.bytes),
  'time to answer': `${totals.p50Ms} ms for half of them, ${totals.p95Ms} ms for 95 of 100`,
})
