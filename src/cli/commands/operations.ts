/** Operations: everything that was asked of an environment, by whom, and how it ended. */
import { ENVIRONMENT } from '../../client/index.ts'
import { names } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { limitOf } from '../options.ts'
import { idFor, peopleColumns, requesterInWords } from '../output/people.ts'
import { printList, when } from '../output/rows.ts'
import { atEnvironment } from '../project/where.ts'

export async function listOperations(call: ClientCall): Promise<undefined> {
  const limit = limitOf(call.options)
  const { service, names: path } = await atEnvironment(call)
  const found = await service.client.first(`GET ${ENVIRONMENT}/operations`, { path, limit })
  printList(call, found.items, {
    row: ({ name, metadata, done, error }) => ({
      operation: idFor(call.terminal, name),
      trigger: metadata.trigger,
      state: done ? (error ? 'FAILED' : 'DONE') : metadata.phase,
      by: requesterInWords(metadata.requestedBy),
      asked: when(call.terminal, metadata.createTime),
      reason: String(error?.details[0]?.reason ?? ''),
      build: metadata.build.endsWith(`/${names.NO_BUILD}`) ? '' : idFor(call.terminal, metadata.build),
      ...peopleColumns(metadata),
    }),
    empty: 'No operations yet.',
    narrow: {
      shortened: ['message', 'commit', 'author', 'by'],
      leftOut: ['build', 'author', 'commit', 'message', 'by'],
    },
  })
  if (found.hasMore && !call.options.json) call.terminal.say(`There are more: --limit ${limit * 5} shows them.`)
}
