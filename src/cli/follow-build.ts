/**
 * Follows a build to its end. The log is printed as it is written; the operation says whether the build is over, and how it
 * ended. A user who stops following does not cancel the build, unless they ask for it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Build, ENVIRONMENT, type Environment, type Operation } from '../client/index.ts'
import { EXIT, names } from '../contract/index.ts'
import { CallFailed, helpAt } from './connection/failures.ts'
import type { Service } from './connection/service.ts'
import type { Interrupts } from './interrupts.ts'
import { finish } from './operation.ts'
import { type LogLine, logOfBuild } from './output/log-lines.ts'
import type { Failed, Report } from './output/report.ts'
import type { Terminal } from './output/terminal.ts'
import { buildIn, environmentIn } from './project/resource-names.ts'
import { confirm } from './questions.ts'

type Followed = {
  service: Service
  operation: Operation
  report: Report
  terminal: Terminal
  interrupts: Interrupts
  /** Without a terminal: whether an interrupt of the command cancels the build. */
  cancelsWhenLeft: boolean
}

/** How long to wait for the last lines of the log when the operation is over. */
const TAIL_MS = 10_000
const CANCEL_MS = 5000

/** Returns the exit code. */
export async function followBuild(followed: Followed): Promise<number> {
  const { service, operation, report, terminal, interrupts } = followed
  const { build } = operation.metadata
  const path = buildIn(build)
  const readBuild = () => service.client.call(`GET ${ENVIRONMENT}/builds/{build}`, { path })
  const over = new AbortController()
  const signal = AbortSignal.any([interrupts.signal, over.signal])
  let answered: Promise<void> = Promise.resolve()
  let isAsking = false

  function onPress() {
    isAsking = true
    answered = askWhetherToCancel().finally(() => {
      isAsking = false
    })
  }

  async function askWhetherToCancel() {
    const isCancelled = await confirm(terminal, 'Cancel the build?', false).catch(() => false)
    if (!isCancelled) return interrupts.leave()
    terminal.say('Cancelling the build.')
    await cancel(service, build).catch((error) => report.note(`It was not cancelled: ${error.message}`))
  }

  async function printLines() {
    const log = logOfBuild(service, build)
    for await (const line of log.follow({ signal, onConnection: report.connection })) {
      // While a question is open, lines would scroll it away.
      await answered
      report.line(line)
    }
  }

  if (terminal.isInteractive) interrupts.onceInstead(onPress)
  const isOfBuild = !operation.metadata.build.endsWith(`/${names.NO_BUILD}`)
  const lines = (isOfBuild ? printLines() : Promise.resolve()).catch((error) => {
    // A log that cannot be read is no reason to stop: the operation says how the build ended.
    if (!signal.aborted) report.note(`The log cannot be read: ${error.message}`)
  })
  const tail = async () => {
    await Promise.race([lines, pause(TAIL_MS, undefined, { signal }).catch(() => undefined)])
    await answered
  }
  try {
    const onPhase = (now: Operation) => (isAsking ? undefined : report.state(now))
    const done = await finish(service, operation, onPhase, signal)
    await tail()
    report.succeeded({ ...resultOf(done), build: await readBuild() })
    return EXIT.done
  } catch (error) {
    if (interrupts.signal.aborted) return await leave(followed)
    await tail()
    const ended = await readBuild().catch(() => undefined)
    if (ended?.held && error instanceof CallFailed) {
      report.held(ended, ended.held, error.message)
      return EXIT.caller
    }
    if (ended?.failure) return await reportFailure(service, ended, ended.failure, report)
    if (ended?.state !== 'CANCELLED' || !(error instanceof CallFailed)) throw error
    report.cancelled(ended, error.reason, error.message)
    return EXIT.caller
  } finally {
    interrupts.onceInstead(undefined)
    report.close()
    over.abort()
    await lines
  }
}

async function leave({ service, operation, report, terminal, cancelsWhenLeft }: Followed): Promise<number> {
  if (cancelsWhenLeft && !terminal.isInteractive) {
    await cancel(service, operation.metadata.build)
    report.note('The build is cancelled.')
  } else report.left(operation)
  return EXIT.caller
}

const cancel = ({ client }: Service, build: string) =>
  client.call(`POST ${ENVIRONMENT}/builds/{build}:cancel`, {
    path: buildIn(build),
    signal: AbortSignal.timeout(CANCEL_MS),
  })

const resultOf = ({ response, metadata: { deployment } }: Operation) => ({
  url: (response as Environment).url,
  deployment,
})

/** Lines before and after the one that shows the failure. */
const AROUND = 3

/** Reports a failed build; the exit code says whose fault it is. */
export async function reportFailure(
  service: Service,
  build: Build,
  failure: Failed['failure'],
  report: Report,
): Promise<number> {
  const environment = build.name.slice(0, build.name.indexOf('/builds/'))
  const path = environmentIn(environment)
  const { deployment } = await service.client.call(`GET ${ENVIRONMENT}`, { path })
  report.failed({
    build,
    failure: { ...failure, page: helpAt(service.url, failure.page) },
    lines: failure.logLine > 0 ? await linesAround(service, build.name, failure.logLine) : [],
    isLive: deployment !== '',
  })
  return failure.fault === 'service' ? EXIT.service : EXIT.caller
}

async function linesAround(service: Service, build: string, number: number): Promise<LogLine[]> {
  const lines: LogLine[] = []
  for await (const line of logOfBuild(service, build).read(Math.max(0, number - 1 - AROUND))) {
    if (line.number > number + AROUND) break
    lines.push(line)
  }
  return lines
}
