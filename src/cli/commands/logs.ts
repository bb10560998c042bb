/** Prints the log of a running app, or of a build. Its lines are data, so they go to stdout. */
import { printableLine } from '../../base/index.ts'
import { type Build, ENVIRONMENT } from '../../client/index.ts'
import { EXIT, markIn, optionText, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { reportFailure } from '../follow-build.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { numberIn } from '../options.ts'
import { afterLast, beginningOf, LINES_OF_APP, markInWords } from '../output/app-log.ts'
import { type LogLine, logOfApp, logOfBuild } from '../output/log-lines.ts'
import { createHeadings, lineInWords } from '../output/report-text.ts'
import { reportFor } from '../output/reports.ts'
import { Interrupted } from '../output/terminal.ts'
import { tailIn, wholeId } from '../project/ids.ts'
import { buildIn } from '../project/resource-names.ts'
import { type AtEnvironment, atEnvironment } from '../project/where.ts'

/** A build that is followed to its end decides the exit code, as in a deploy. */
export async function logs(call: ClientCall): Promise<number> {
  const { options } = call
  for (const name of ['status', 'path', 'id'])
    if (options[name] !== undefined) throw new UsageError(`--${name} is for --requests`)
  const given = optionText(options, 'lines')
  const lines = given === undefined ? undefined : numberIn(given, '--lines', 0)
  const wanted = optionText(options, 'build')
  const id = wanted === undefined || wanted === 'latest' ? wanted : tailIn(wanted, 'build')
  const at = await atEnvironment(call)
  const build = id === undefined ? undefined : await readBuild(at, id)
  const log = build ? logOfBuild(at.service, build.name) : logOfApp(at.service, at.names)
  const after = await whereToBegin()

  const print = options.json ? printJson(call) : printText(call, build !== undefined)
  if (!options.follow) {
    for await (const line of log.read(after)) print(line)
    return EXIT.done
  }
  const interrupts = listenForInterrupts()
  try {
    const { signal } = interrupts
    const report = reportFor(call)
    for await (const line of log.follow({ after, signal, onConnection: report.connection })) print(line)
    if (!build) return EXIT.done
    const ended = await at.service.client.call(`GET ${ENVIRONMENT}/builds/{build}`, { path: buildIn(build.name) })
    if (ended.failure) return await reportFailure(at.service, ended, ended.failure, report)
    return ended.state === 'SUCCEEDED' ? EXIT.done : EXIT.caller
  } catch (error) {
    // Ctrl-C is the normal way to stop reading.
    if (error instanceof Interrupted || interrupts.signal.aborted) return EXIT.done
    throw error
  } finally {
    interrupts.close()
  }

  async function whereToBegin(): Promise<number> {
    if (lines !== undefined) return afterLast(log, lines)
    if (build) return 0
    if (!options.follow) return afterLast(log, LINES_OF_APP)
    const { after, note } = await beginningOf(log, at.environment.deployment)
    if (note) call.terminal.say(note)
    return after
  }
}

async function readBuild(at: AtEnvironment, wanted: string): Promise<Build> {
  const { client } = at.service
  const path = at.names
  if (wanted !== 'latest') {
    const build = await wholeId(at, 'builds', wanted)
    return client.call(`GET ${ENVIRONMENT}/builds/{build}`, { path: { ...path, build } })
  }
  const { items } = await client.first(`GET ${ENVIRONMENT}/builds`, { path, limit: 1 })
  if (!items[0]) throw new UsageError("there is no build yet: 'headland deploy' makes the first")
  return items[0]
}

const timeOf = ({ time }: LogLine): string => new Date(time).toISOString()

/** A mark in a line gets fields of its own. */
const printJson =
  ({ terminal }: ClientCall) =>
  (line: LogLine) =>
    terminal.print(JSON.stringify({ ...line, time: timeOf(line), ...markIn(line) }))

/** On a terminal the time of day, and phases as headings; for programs the full time, and the phase in each line. */
function printText({ terminal }: ClientCall, isOfBuild: boolean): (line: LogLine) => void {
  if (!terminal.isShown) {
    return (line) => {
      const marked = isOfBuild ? undefined : markIn(line)
      if (marked) return terminal.print(markInWords(terminal, marked, timeOf(line), line))
      const phase = isOfBuild ? [printableLine(line.phase)] : []
      terminal.print([timeOf(line), ...phase, printableLine(line.text)].join(' '))
    }
  }
  const heading = isOfBuild ? createHeadings(terminal) : () => undefined
  const indent = isOfBuild ? '  ' : ''
  return (line) => {
    heading(line)
    const hour = new Date(line.time).toTimeString().slice(0, 8)
    const marked = isOfBuild ? undefined : markIn(line)
    if (marked) return terminal.print(markInWords(terminal, marked, hour, line))
    terminal.print(`${indent}${terminal.paint('dim', hour)}  ${lineInWords(terminal, line)}`)
  }
}
