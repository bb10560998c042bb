/** Publishes of an environment: from the call to what visitors get. */
import { ENVIRONMENT, type Publish } from '../../../client/index.ts'
import { optionText, type resources, table } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { changeWithEtag } from '../../etag-change.ts'
import { finishInSight } from '../../operation.ts'
import { limitOf, numberIn } from '../../options.ts'
import { secondsInWords } from '../../output/figures.ts'
import { idFor, requesterInWords } from '../../output/people.ts'
import { oneLine, printList, printResult, when } from '../../output/rows.ts'
import { atEnvironment } from '../../project/where.ts'
import { KINDS } from './kinds.ts'

export async function listPublishes(call: ClientCall): Promise<undefined> {
  const limit = limitOf(call.options)
  const typed = optionText(call.options, 'kind')
  const { service, names: path } = await atEnvironment(call)
  const query = typed === undefined ? {} : { kind: KINDS[typed as keyof typeof KINDS] }
  const found = await service.client.first(`GET ${ENVIRONMENT}/publishes`, { path, query, limit })
  printList(call, found.items, {
    row: (one) => rowOf(call, one),
    empty: "Nothing was published yet. 'headland deploy', a rebuild and a purge are publishes.",
    narrow: { shortened: ['by'], leftOut: ['operation', 'calls', 'by', 'waited', 'switched', 'built'] },
  })
  if (found.hasMore && !call.options.json) call.terminal.say(`There are more: --limit ${limit * 5} shows them.`)
}

const rowOf = ({ terminal }: ClientCall, one: Publish) => ({
  called: when(terminal, one.callTime),
  trigger: textOf(one.trigger),
  state: one.late ? `${textOf(one.state)}, late` : textOf(one.state),
  visible: inWords(one.visibleMs),
  'first visit': one.untilVisitMs === undefined ? '' : `+${inWords(one.untilVisitMs)}`,
  waited: inWords(one.waitingMs),
  built: inWords(one.buildingMs),
  switched: inWords(one.switchingMs),
  calls: String(one.calls ?? ''),
  by: requesterInWords(one.requestedBy),
  operation: one.operation ? idFor(terminal, one.operation) : '',
})

export async function showTimes(call: ClientCall): Promise<undefined> {
  const { terminal, options } = call
  const range = (optionText(options, 'range') ?? '7d') as resources.TrafficRange
  const { service, names: path } = await atEnvironment(call)
  const times = await service.client.call(`GET ${ENVIRONMENT}/publishTimes`, { path, query: { range } })
  if (options.json) return void terminal.print(JSON.stringify(times))
  const kinds = (times.kinds ?? []).filter(({ visible }) => (visible?.count ?? 0) > 0)
  if (kinds.length === 0) return void terminal.say(`Nothing became visible within ${range}.`)
  const rows = kinds.flatMap((one) =>
    PARTS.flatMap(([part, word]) => {
      const { count = 0, p50Ms, p95Ms, p99Ms } = one[part] ?? {}
      if (count === 0) return []
      const of = { kind: oneLine(textOf(one.kind).toLowerCase()), what: word, count: String(count) }
      return [{ ...of, p50: inWords(p50Ms), p95: inWords(p95Ms), p99: inWords(p99Ms) }]
    }),
  )
  terminal.print(table(rows))
  if (times.promiseSeconds !== undefined) {
    const late = kinds.reduce((sum, one) => sum + one.late, 0)
    terminal.print(`\nPromised: ${inWords(times.promiseSeconds * 1000)}. Late: ${late}.`)
  }
}

const PARTS = [
  ['visible', 'call to visible'],
  ['waiting', 'waiting'],
  ['building', 'building'],
  ['switching', 'switching or purging'],
  ['untilVisit', 'visible to first visit'],
] as const

export async function setPromise(call: ClientCall): Promise<undefined> {
  const [given = ''] = call.positionals
  const publishPromiseSeconds = given === 'none' ? null : numberIn(given, 'SECONDS', 1)
  const { service, names: path } = await atEnvironment(call)
  const read = () => service.client.call(`GET ${ENVIRONMENT}`, { path })
  const asked = await changeWithEtag({
    first: await read(),
    read,
    write: ({ etag }) => service.client.call(`PATCH ${ENVIRONMENT}`, { path, body: { publishPromiseSeconds, etag } }),
    clash: (first, now) => (now.publishPromiseSeconds === first.publishPromiseSeconds ? [] : ['publishPromiseSeconds']),
  })
  const changed = await finishInSight({ ...call, service }, asked)
  const words = given === 'none' ? 'It promises nothing.' : `A publish is late after ${inWords(Number(given) * 1000)}.`
  printResult(call, changed, words)
}

const inWords = (ms: unknown): string => (typeof ms === 'number' ? secondsInWords(ms / 1000) : '')
/** Texts of a service may be missing, or something else. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
