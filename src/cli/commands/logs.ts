/** Prints the log of a running app, or of a build. Its lines are data, and go to stdout. */
import { printableLine } from '../../base/index.ts'
import { EXIT, names, optionText, type resources, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { tellFailure } from '../follow-build.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { followLog, type LogLine, lastNumber, readLog } from '../log-lines.ts'
import { idIn, numberIn } from '../options.ts'
import { api, resource } from '../path.ts'
import { createHeadings, lineInWords } from '../report-text.ts'
import { reportFor } from '../reports.ts'
import { Interrupted } from '../terminal.ts'
import { type AtEnvironment, atEnvironment } from '../where.ts'

const LINES_OF_APP = 100

/** A build that is followed to its end decides the exit code, as in a deploy. */
export async function logs(call: ClientCall): Promise<number> {
  const { options } = call
  const given = optionText(options, 'lines')
  const lines = given === undefined ? undefined : numberIn(given, '--lines', 0)
  const wanted = optionText(options, 'build')
  const id = wanted === undefined || wanted === 'latest' ? wanted : idIn(wanted, names.buildId.pattern, 'build')
  const at = await atEnvironment(call)
  const build = id === undefined ? undefined : await readBuild(at, id)
  const path = build ? api`/v1/${resource(build.name)}/log` : api`${at.path}/logs`
  const last = lines ?? (build ? undefined : LINES_OF_APP)
  const after = last === undefined ? 0 : Math.max(0, (await lastNumber(at.service, path)) - last)

  const print = options.json ? printJson(call) : printText(call, build !== undefined)
  if (!options.follow) {
    for await (const line of readLog(at.service, path, after)) print(line)
    return EXIT.done
  }
  const interrupts = listenForInterrupts()
  try {
    const { signal } = interrupts
    const report = reportFor(call)
    for await (const line of followLog(at.service, path, { after, signal, onConnection: report.connection }))
      print(line)
    if (!build) return EXIT.done
    const ended = await readBuild(at, build.name)
    if (ended.failure) return await tellFailure(at.service, ended, ended.failure, report)
    return ended.state === 'SUCCEEDED' ? EXIT.done : EXIT.caller
  } catch (error) {
    // Ctrl-C is how one stops reading.
    if (error instanceof Interrupted || interrupts.signal.aborted) return EXIT.done
    throw error
  } finally {
    interrupts.close()
  }
}

async function readBuild({ service, path }: AtEnvironment, wanted: string): Promise<resources.Build> {
  if (wanted !== 'latest')
    return service.call<resources.Build>(api`${path}/builds/${wanted.slice(wanted.lastIndexOf('/') + 1)}`)
  const { items } = await service.first<resources.Build>(api`${path}/builds`, 'builds', 1)
  if (!items[0]) throw new UsageError("there is no build yet: 'headland deploy' makes the first")
  return items[0]
}

const timeOf = ({ time }: LogLine): string => new Date(time).toISOString()

const printJson =
  ({ terminal }: ClientCall) =>
  (line: LogLine) =>
    terminal.print(JSON.stringify({ ...line, time: timeOf(line) }))

/** In a terminal the hour, and phases as headings; for programs the whole time, and the phase in each line. */
function printText({ terminal }: ClientCall, isOfBuild: boolean): (line: LogLine) => void {
  if (!terminal.isShown) {
    return (line) =>
      terminal.print(
        [timeOf(line), ...(isOfBuild ? [printableLine(line.phase)] : []), printableLine(line.text)].join(' '),
      )
  }
  const heading = isOfBuild ? createHeadings(terminal) : () => undefined
  const indent = isOfBuild ? '  ' : ''
  return (line) => {
    heading(line)
    const hour = new Date(line.time).toTimeString().slice(0, 8)
    terminal.print(`${indent}${terminal.paint('dim', hour)}  ${lineInWords(terminal, line)}`)
  }
}
