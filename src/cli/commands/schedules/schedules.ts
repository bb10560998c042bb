/** Schedules of an environment: rebuilds and purges at the times of a cron expression. */
import { ENVIRONMENT, type Schedule } from '../../../client/index.ts'
import { LIMITS, optionText, UsageError } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { makeSure } from '../../options.ts'
import { oneLine, printList, printResult, when } from '../../output/rows.ts'
import { endingWith } from '../../project/ids.ts'
import { namesIn } from '../../project/resource-names.ts'
import { type AtEnvironment, atEnvironment, lastPart } from '../../project/where.ts'
import { ACTIONS } from './actions.ts'

export async function listSchedules(call: ClientCall): Promise<undefined> {
  const found = await read(await atEnvironment(call))
  printList(call, found, {
    row: (one) => ({
      action: wordOf(one),
      cron: textOf(one.cron),
      zone: textOf(one.timeZone),
      next: one.paused ? 'paused' : textOf(one.nextTimes?.[0]),
      last: one.lastTime ? when(call.terminal, one.lastTime) : '',
      id: lastPart(one).slice(-8),
    }),
    empty: "No schedules. 'headland schedules create @daily' makes one that rebuilds every day.",
    narrow: { shortened: ['cron'], leftOut: ['last', 'zone'] },
  })
}

export async function createSchedule(call: ClientCall): Promise<undefined> {
  const [cron = ''] = call.positionals
  const { service, names: path } = await atEnvironment(call)
  const timeZone = optionText(call.options, 'time-zone')
  const action = ACTIONS[(optionText(call.options, 'action') ?? 'rebuild') as keyof typeof ACTIONS]
  const body = { action, cron, ...(timeZone === undefined ? {} : { timeZone }) }
  const made = await service.client.call(`POST ${ENVIRONMENT}/schedules`, { path, body })
  printResult(call, made, `Its id is ${lastPart(made).slice(-8)}. It runs next at ${nextOf(made)}.`)
}

export const pauseSchedule = (call: ClientCall) => setPaused(call, true)
export const resumeSchedule = (call: ClientCall) => setPaused(call, false)

export async function deleteSchedule(call: ClientCall): Promise<undefined> {
  const at = await atEnvironment(call)
  const one = await find(call, at)
  await makeSure(call, `This deletes the schedule '${oneLine(textOf(one.cron))}' (${wordOf(one)}).`, 'delete')
  await at.service.client.call(`DELETE ${SCHEDULE}`, { path: scheduleIn(one) })
  printResult(call, {}, `Deleted the schedule '${oneLine(textOf(one.cron))}'.`)
}

async function setPaused(call: ClientCall, paused: boolean): Promise<undefined> {
  const at = await atEnvironment(call)
  const one = await find(call, at)
  const body = { paused }
  const after = await at.service.client.call(`PATCH ${SCHEDULE}`, { path: scheduleIn(one), body })
  printResult(call, after, paused ? 'It is paused.' : `It runs next at ${nextOf(after)}.`)
}

const SCHEDULE = `${ENVIRONMENT}/schedules/{schedule}` as const
const scheduleIn = ({ name }: Schedule) => namesIn(name, 'account', 'app', 'environment', 'schedule')

const read = ({ service, names: path }: AtEnvironment): Promise<Schedule[]> =>
  Array.fromAsync(
    service.client.list(`GET ${ENVIRONMENT}/schedules`, { path, query: { pageSize: LIMITS.maxPageSize } }),
  )

async function find(call: ClientCall, at: AtEnvironment): Promise<Schedule> {
  const [named = ''] = call.positionals
  const all = await read(at)
  const [found, ...others] = endingWith(all, named.slice(named.lastIndexOf('/') + 1))
  if (found && others.length === 0) return found
  const known = all.map((one) => `${lastPart(one).slice(-8)} (${textOf(one.cron)})`).join(', ') || 'none'
  throw new UsageError(`there is no schedule '${named}'. There are: ${oneLine(known)}`)
}

const wordOf = ({ action }: Schedule): string =>
  Object.entries(ACTIONS).find(([, known]) => known === action)?.[0] ?? textOf(action)
const nextOf = ({ nextTimes }: Schedule): string => oneLine(textOf(nextTimes?.[0]))
/** Texts of a service may be missing, or something else. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
