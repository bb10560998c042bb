/** Builds: their results, why one failed, and what to do about it. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Build, ENVIRONMENT, type FromSnapshot } from '../../client/index.ts'
import { EXIT, shortId, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { helpAt } from '../connection/failures.ts'
import { limitOf } from '../options.ts'
import { countInWords } from '../output/figures.ts'
import { commitInWords, digestFor, idFor, peopleColumns, requesterInWords, triggerInWords } from '../output/people.ts'
import { warningsIn } from '../output/report.ts'
import { factsOf, oneLine, printList, printResult, sizeOf, when } from '../output/rows.ts'
import { tailIn, wholeId } from '../project/ids.ts'
import { type AtEnvironment, atEnvironment, lastPart } from '../project/where.ts'

const EMPTY = "No builds yet. 'headland deploy' makes the first."
/** A running build ends within 5 s after it is cancelled; one that waits, at once. */
const CANCEL_TRIES = 30

export async function listBuilds(call: ClientCall): Promise<undefined> {
  const limit = limitOf(call.options)
  const { service, names: path } = await atEnvironment(call)
  const { items, hasMore } = await service.client.first(`GET ${ENVIRONMENT}/builds`, { path, limit })
  const now = Date.now()
  printList(call, items, {
    row: (build) => ({
      build: idFor(call.terminal, build.name),
      state: isOver(build) ? stateOf(build) : `${build.state}, ${build.phase}`,
      trigger: triggerInWords(build),
      by: requesterInWords(build.requestedBy),
      asked: when(call.terminal, build.createTime),
      seconds: secondsOf(build, now),
      reason: build.failure?.reason ?? build.held?.reason ?? '',
      archive: digestFor(call.terminal, build.archive),
      ...peopleColumns(build),
    }),
    empty: EMPTY,
    narrow: {
      shortened: ['message', 'commit', 'author', 'by'],
      leftOut: ['archive', 'seconds', 'author', 'commit', 'message', 'by'],
    },
  })
  if (hasMore && !call.options.json) call.terminal.say(`There are more: --limit ${limit * 5} shows them.`)
}

export async function showBuild(call: ClientCall): Promise<undefined> {
  const given = call.positionals[0]
  const tail = given === undefined ? undefined : tailIn(given, 'build')
  const at = await atEnvironment(call)
  const build = tail === undefined ? await newest(at) : await read(at, await wholeId(at, 'builds', tail))
  if (call.options.json) call.terminal.print(JSON.stringify(build))
  else call.terminal.print(inWords(call, build, at.service.url))
}

/** Returns 0 when it is cancelled, 1 when it was over before that. */
export async function cancelBuild(call: ClientCall): Promise<number> {
  const tail = tailIn(call.positionals[0] ?? '', 'build')
  const at = await atEnvironment(call)
  const id = await wholeId(at, 'builds', tail)
  await at.service.client.call(`POST ${ENVIRONMENT}/builds/{build}:cancel`, { path: { ...at.names, build: id } })
  let build = await read(at, id)
  for (let tries = 0; !isOver(build) && tries < CANCEL_TRIES; tries++) {
    await pause(500)
    build = await read(at, id)
  }
  const isCancelled = build.state === 'CANCELLED'
  const over = isOver(build) ? `was over before: ${build.state}` : 'is about to end'
  printResult(call, build, isCancelled ? `Cancelled the build ${shortId(id)}.` : `The build ${shortId(id)} ${over}.`)
  return isCancelled ? EXIT.done : EXIT.caller
}

const read = ({ service, names }: AtEnvironment, id: string): Promise<Build> =>
  service.client.call(`GET ${ENVIRONMENT}/builds/{build}`, { path: { ...names, build: id } })

async function newest({ service, names: path }: AtEnvironment): Promise<Build> {
  const { items } = await service.client.first(`GET ${ENVIRONMENT}/builds`, { path, limit: 1 })
  if (!items[0]) throw new UsageError(`there is no build to show. ${EMPTY}`)
  return items[0]
}

const isOver = ({ state }: Build): boolean => state !== 'QUEUED' && state !== 'RUNNING'

const stateOf = ({ state, unchanged, held, fromSnapshot }: Build): string =>
  [state, unchanged && 'unchanged', held && 'held', fromSnapshot && 'from snapshot'].filter(Boolean).join(', ')

function secondsOf({ startTime, finishTime }: Build, now: number): string {
  if (startTime === undefined) return ''
  const end = finishTime === undefined ? now : Date.parse(finishTime)
  return String(Math.max(0, Math.round((end - Date.parse(startTime)) / 1000)))
}

/** `compile hit 12 MB, kept 14 MB`. A service of an earlier version does not send what was kept. */
function cacheInWords({ cache, state, bytes, savedBytes }: Build['caches'][number]): string {
  const used = `${cache} ${state.toLowerCase()}${state === 'HIT' && bytes > 0 ? ` ${sizeOf(bytes)}` : ''}`
  if (savedBytes === undefined) return used
  return `${used}, kept ${savedBytes > 0 ? sizeOf(savedBytes) : 'nothing'}`
}

const contentInWords = (terminal: ClientCall['terminal'], { time, build, message }: FromSnapshot): string =>
  `of ${when(terminal, time)}, recorded by build ${shortId(build)}, since the CMS was down: ${oneLine(message)}`

function inWords({ terminal }: ClientCall, build: Build, url: string): string {
  const { failure, firstFailure, held, archive, plan, tools, caches, durations } = build
  const facts = factsOf({
    build: lastPart(build),
    state: stateOf(build),
    trigger: build.clean ? `${triggerInWords(build)}, clean` : triggerInWords(build),
    phase: isOver(build) ? undefined : build.phase,
    by: requesterInWords(build.requestedBy),
    message: build.message,
    commit: `${commitInWords(build.commit)}${build.commit?.isDirty ? ', with changes that are not in it' : ''}`,
    author: build.commit?.author,
    repository: build.commit?.repository,
    asked: when(terminal, build.createTime),
    finished: when(terminal, build.finishTime),
    archive: `${digestFor(terminal, archive)}, ${countInWords(archive.files, 'file')}, ${sizeOf(archive.bytes)}`,
    framework: typeof plan?.framework === 'string' ? plan.framework : undefined,
    tools: tools && [`Node ${tools.node}`, ...(tools.packageManager ? [tools.packageManager] : [])].join(', '),
    caches: caches.map(cacheInWords).join('; '),
    content: build.fromSnapshot && contentInWords(terminal, build.fromSnapshot),
    'first attempt': firstFailure && `${firstFailure.message} ${firstFailure.retriedBecause}`,
    seconds: Object.entries(durations)
      .map(([phase, seconds]) => `${phase.toLowerCase()} ${(seconds as number).toFixed(1)}`)
      .join(', '),
  })
  const warnings = warningsIn(build).map((text) => `${terminal.paint('yellow', 'warning')}  ${oneLine(text)}`)
  const head = [facts, ...(warnings.length > 0 ? ['', ...warnings] : [])].join('\n')
  if (held) {
    const why = factsOf({ reason: held.reason, do: held.todo, 'see also': helpAt(url, held.page) })
    return `${head}\n\n${terminal.paint('yellow', oneLine(held.message))}\n${why}`
  }
  if (!failure) return head
  const why = factsOf({
    reason: failure.reason,
    cause: [failure.cause, failure.retryable && 'A retry may help.'].filter(Boolean).join(' '),
    do: failure.todo,
    'see also': helpAt(url, failure.page),
    log: `headland logs --build ${shortId(build.name)}${failure.logLine > 0 ? `, line ${failure.logLine}` : ''}`,
    changed: failure.changes.join('; '),
  })
  return `${head}\n\n${terminal.paint('red', oneLine(failure.message))}\n${why}`
}
