/** What changed in the content of the CMS between two builds. */
import { type ContentDiff, ENVIRONMENT } from '../../../client/index.ts'
import { shortId } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { oneLine, when } from '../../output/rows.ts'
import { tailIn, wholeId } from '../../project/ids.ts'
import { atEnvironment } from '../../project/where.ts'

type Diff = ContentDiff

export async function diffContent(call: ClientCall): Promise<undefined> {
  const [first = '', second = ''] = call.positionals
  const tails = [tailIn(first, 'build'), tailIn(second, 'build')] as const
  const at = await atEnvironment(call)
  const [from, to] = [await wholeId(at, 'builds', tails[0]), await wholeId(at, 'builds', tails[1])]
  const asked = { path: { ...at.names, build: to }, query: { from } }
  const diff = await at.service.client.call(`GET ${ENVIRONMENT}/builds/{build}/contentDiff`, asked)
  call.terminal.print(call.options.json ? JSON.stringify(diff) : inWords(call, diff))
}

function inWords({ terminal }: ClientCall, diff: Diff): string {
  const { counts } = diff
  const head = oneLine(
    `${shortId(diff.from)} (content of ${when(terminal, diff.fromTime)}) and ${shortId(diff.to)} (content of ${when(terminal, diff.toTime)}): ${counts.changed} changed, ${counts.added} added, ${counts.removed} removed, ${counts.unchanged} the same.`,
  )
  const listed = (sign: string, items: Diff['added'], count: number) => [
    ...items.map((one) => `${sign} ${nameOf(one)}`),
    ...more(count - items.length),
  ]
  return [
    head,
    ...diff.changed.flatMap((one) => [`~ ${nameOf(one)}${statusOf(one)}`, ...one.changes.map(changeOf), ...rest(one)]),
    ...more(counts.changed - diff.changed.length),
    ...listed('+', diff.added, counts.added),
    ...listed('-', diff.removed, counts.removed),
  ].join('\n')
}

const nameOf = ({ method, url, query }: { method: string; url: string; query?: string | undefined }): string =>
  oneLine(`${method} ${url}${query ? ` (${query})` : ''}`)

const statusOf = ({ statusBefore, statusAfter }: Diff['changed'][number]): string =>
  statusBefore === statusAfter ? '' : oneLine(`: ${statusBefore}, now ${statusAfter}`)

function changeOf({ path, before, after }: Diff['changed'][number]['changes'][number]): string {
  if (before === undefined) return oneLine(`    ${path}: new, ${after}`)
  return oneLine(after === undefined ? `    ${path}: gone, was ${before}` : `    ${path}: ${before} → ${after}`)
}

const rest = ({ moreChanges }: Diff['changed'][number]): string[] =>
  moreChanges > 0 ? [`    and ${moreChanges} more changes`] : []

const more = (count: number): string[] => (count > 0 ? [`  and ${count} more`] : [])
