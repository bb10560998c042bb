/** Prints the log of requests: what visitors asked for, and what they got. Its lines are data, so they go to stdout. */
import { bytesInWords, printableLine } from '../../base/index.ts'
import { ENVIRONMENT, notALog, type RequestRecord, type RequestRecordList } from '../../client/index.ts'
import { EXIT, optionText, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { noAnswer } from '../connection/failures.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { numberIn } from '../options.ts'
import { logOfApp } from '../output/log-lines.ts'
import { reportFor } from '../output/reports.ts'
import { factsOf } from '../output/rows.ts'
import { Interrupted, type Terminal } from '../output/terminal.ts'
import { type AtEnvironment, atEnvironment } from '../project/where.ts'

const REQUESTS = `GET ${ENVIRONMENT}/requests` as const
const LINES = 100
/** The app's lines from so long before a request until so long after it, at most so many. */
const AROUND_MS = 1000
const MAX_AROUND = 100

export async function requests(call: ClientCall): Promise<number> {
  const { options, terminal } = call
  if (options.build !== undefined) throw new UsageError('--build and --requests do not go together')
  const lines = numberIn(optionText(options, 'lines') ?? String(LINES), '--lines', 0)
  const at = await atEnvironment(call)
  const { client } = at.service
  const path = at.names
  const query = {
    status: optionText(options, 'status'),
    path: optionText(options, 'path'),
    id: optionText(options, 'id'),
  }

  const newest: Partial<RequestRecordList> = await client.call(REQUESTS, { path, query: { pageSize: 1 } })
  if (newest.isRecorded === false) {
    terminal.say('Requests are not recorded here: the operator has switched it off (requestLog).')
    return EXIT.done
  }
  const found = lines === 0 ? [] : (await client.first(REQUESTS, { path, query, limit: lines })).items
  const records = found.map(checked).reverse()
  if (query.id !== undefined) return showOne(call, at, records[0])

  const print = options.json ? printJson(terminal) : printText(terminal)
  if (!options.follow) {
    for (const record of records) print(record)
    if (records.length === 0) terminal.say('No such request is recorded.')
    const fault = records.findLast(({ id }) => id !== undefined)
    if (fault && !options.json)
      terminal.say(`'headland logs --requests --id ${printableLine(fault.id ?? '')}' shows what the app wrote then.`)
    return EXIT.done
  }

  // Before the first line: a reader who has seen it may press Ctrl-C.
  const interrupts = listenForInterrupts()
  try {
    for (const record of records) print(record)
    const { signal } = interrupts
    const after = Math.max(newest.requests?.[0]?.number ?? 0, records.at(-1)?.number ?? 0)
    const following = { path, query, after, signal, onConnection: reportFor(call).connection }
    for await (const record of client.follow(REQUESTS, following)) print(checked(record))
    return EXIT.done
  } catch (error) {
    // Ctrl-C is the normal way to stop reading.
    if (error instanceof Interrupted || interrupts.signal.aborted) return EXIT.done
    throw error
  } finally {
    interrupts.close()
  }
}

/** One request, and what the app wrote at that time. */
async function showOne(call: ClientCall, at: AtEnvironment, record: RequestRecord | undefined): Promise<number> {
  const { terminal, options } = call
  if (!record) {
    terminal.say('No request with this id is recorded. Old ones are deleted, and under load only some are kept.')
    return EXIT.caller
  }
  if (options.json) {
    terminal.print(JSON.stringify(record))
    return EXIT.done
  }
  const { time, method, status, durationMs, bytes, cache, outcome, client } = record
  terminal.print(
    factsOf({
      request: `${printableLine(method)} ${targetOf(record)}`,
      status: `${status}${OUTCOMES[outcome] ?? ''}`,
      time: printableLine(time),
      took: `${durationMs} ms`,
      sent: bytesInWords(bytes),
      cache: printableLine(cache),
      visitor: printableLine(client),
    }),
  )
  const end = Date.parse(time)
  const [from, until] = [end - durationMs - AROUND_MS, end + AROUND_MS]
  const near: string[] = []
  for await (const line of logOfApp(at.service, at.names).read(0)) {
    if (line.time < from || line.time > until) continue
    near.push(`${new Date(line.time).toISOString()} ${printableLine(line.text)}`)
    if (near.length > MAX_AROUND) near.shift()
  }
  if (near.length === 0) terminal.say('\nThe app wrote nothing at that time.')
  else terminal.print(`\nThe app's log at that time:\n${near.join('\n')}`)
  if (!record.path.includes('{') && method === 'GET')
    terminal.say(`\n'headland trace ${printableLine(record.path)}' shows what visitors get there now, and why.`)
  return EXIT.done
}

const OUTCOMES: Record<string, string> = {
  aborted: ', and the visitor left before the end',
  broken: ', and the app broke off its answer',
}

const printJson = (terminal: Terminal) => (record: RequestRecord) => terminal.print(JSON.stringify(record))

/** On a terminal the time of day; for programs the full time. */
function printText(terminal: Terminal): (record: RequestRecord) => void {
  return (record) => {
    const { time, method, status, durationMs, bytes, cache, outcome, id, omitted } = record
    const shownTime = terminal.isShown ? new Date(time).toTimeString().slice(0, 8) : time
    const colour = status >= 500 ? 'red' : status >= 400 || outcome !== 'complete' ? 'yellow' : undefined
    const shown = status === 0 ? '---' : String(status)
    const columns = [
      terminal.paint('dim', printableLine(shownTime)),
      colour ? terminal.paint(colour, shown) : shown,
      printableLine(method).padEnd(4),
      printableLine(cache).padEnd(6),
      `${Math.round(durationMs)} ms`.padStart(8),
      bytesInWords(bytes).padStart(8),
      targetOf(record),
      ...(outcome === 'complete' ? [] : [printableLine(outcome)]),
      ...(id === undefined ? [] : [terminal.paint('dim', `id=${printableLine(id)}`)]),
    ]
    terminal.print(columns.join('  '))
    if (omitted > 0)
      terminal.print(terminal.paint('dim', `… ${omitted.toLocaleString('en')} more of that time were not recorded`))
  }
}

const targetOf = ({ path, parameters }: RequestRecord): string =>
  printableLine(parameters.length > 0 ? `${path}?${parameters.map((name) => `${name}=…`).join('&')}` : path)

/** What a service sends is printed only where it has the form of a request. */
function checked(given: unknown): RequestRecord {
  const { number, time, method, path, parameters, status, durationMs, bytes, cache, outcome, client, id, omitted } =
    (given ?? {}) as Partial<RequestRecord>
  const isOfNumbers = [number, status, durationMs, bytes, omitted].every((one) => Number.isFinite(one))
  const texts = [time, method, path, cache, outcome, client, id ?? '']
  const isOfTexts = Array.isArray(parameters) && [...texts, ...parameters].every((one) => typeof one === 'string')
  if (!isOfNumbers || !isOfTexts || Number.isNaN(Date.parse(time as string))) throw noAnswer(notALog().message)
  const fields = { number, time, method, path, parameters, status, durationMs, bytes, cache, outcome, client, omitted }
  return { ...fields, ...(id === undefined ? {} : { id }) } as RequestRecord
}
