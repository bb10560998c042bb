/** Triggers: who asked for builds and purges of an environment, and the responses they got. */
import { ENVIRONMENT, type Trigger } from '../../client/index.ts'
import type { ClientCall } from '../command.ts'
import { limitOf } from '../options.ts'
import { idFor, peopleColumns, requesterInWords } from '../output/people.ts'
import { printList, tableFor, when } from '../output/rows.ts'
import { atEnvironment } from '../project/where.ts'

const NARROW = {
  shortened: ['message', 'caller', 'commit', 'author', 'by', 'purged'],
  leftOut: ['from', 'operation', 'caller', 'author', 'message', 'commit', 'by', 'purged'],
}

export async function listTriggers(call: ClientCall): Promise<undefined> {
  const limit = limitOf(call.options)
  const { service, names: path } = await atEnvironment(call)
  const found = await service.client.first(`GET ${ENVIRONMENT}/triggers`, { path, limit })
  printList(call, found.items, {
    row: (one) => rowOf(call, one),
    empty: "No rebuild or purge was asked for yet. 'headland webhooks create' makes URLs for a CMS.",
    narrow: NARROW,
  })
  if (found.hasMore && !call.options.json) call.terminal.say(`There are more: --limit ${limit * 5} shows them.`)
}

export const triggersInRows = (call: ClientCall, triggers: readonly Trigger[]): string =>
  tableFor(
    call.terminal,
    triggers.map((one) => rowOf(call, one)),
    NARROW,
  )

const rowOf = ({ terminal }: ClientCall, one: Trigger) => ({
  called: when(terminal, one.createTime),
  action: one.forced ? `${one.action}, forced` : one.action,
  source: one.source,
  by: requesterInWords(one.requestedBy),
  answer: one.reason ? `${one.answer} ${one.reason}` : String(one.answer),
  content: one.fromSnapshot ? `of ${when(terminal, one.fromSnapshot)}` : '',
  operation: one.operation && idFor(terminal, one.operation),
  purged: one.purged?.content ? `pages that show ${one.purged.content.join(', ')}` : '',
  from: one.address,
  caller: one.userAgent,
  ...peopleColumns({ commit: one.commit }),
})
