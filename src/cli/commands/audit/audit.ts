/** The audit log of an account: who changed what, and when. */
import { ACCOUNT, type Routes } from '../../../client/index.ts'
import { optionText, UsageError } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { limitOf } from '../../options.ts'
import { actorInWords } from '../../output/people.ts'
import { printList, when } from '../../output/rows.ts'
import { atAccount } from '../../project/where.ts'

const EVENTS = `GET ${ACCOUNT}/auditEvents` as const

type Query = Routes[typeof EVENTS]['query']

export async function listEvents(call: ClientCall): Promise<undefined> {
  const limit = limitOf(call.options)
  const [startTime, endTime] = [timeOf(call, 'since'), timeOf(call, 'until')]
  const { service, account } = await atAccount(call)
  const app = optionText(call.options, 'app')
  const query = {
    // Which ones there are, the service knows.
    action: optionText(call.options, 'action')?.toUpperCase().replaceAll('-', '_') as Query['action'],
    by: optionText(call.options, 'by'),
    resource: app === undefined ? undefined : `accounts/${account}/apps/${app}`,
    startTime,
    endTime,
  }
  const asked = { path: { account }, query, limit }
  const found = await service.client.first(EVENTS, asked)
  printList(call, found.items, {
    row: (one) => ({
      time: when(call.terminal, one.time),
      action: one.action,
      by: actorInWords(one.by),
      resource: belowAccount(one.resource),
      title: one.title,
      fields: Array.isArray(one.fields) ? one.fields.join(' ') : '',
      way: one.way,
      from: one.address,
    }),
    empty: 'No such change is recorded.',
    narrow: { shortened: ['fields', 'resource', 'title'], leftOut: ['from', 'way', 'fields'] },
  })
  if (found.hasMore && !call.options.json) call.terminal.say(`There are more: --limit ${limit * 5} shows them.`)
}

function timeOf({ options }: ClientCall, option: string): string | undefined {
  const text = optionText(options, option)
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new UsageError(`--${option} is a time such as 2026-01-31 or 2026-01-31T12:00:00Z`)
  return new Date(time).toISOString()
}

/** The account is known; what is below it is of interest. */
const belowAccount = (name: unknown): string => String(name).replace(/^accounts\/[^/]*\/?/, '')
