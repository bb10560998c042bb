/**
 * Ids as people type them: whole, at the end of a resource name, or as short as they are shown. A short one is looked for
 * among the newest of its environment; where two end with it, both are named and neither is taken.
 */
import { type Client, ENVIRONMENT } from '../../client/index.ts'
import { isIdTail, names, UsageError } from '../../contract/index.ts'
import { oneLine } from '../output/rows.ts'
import type { EnvironmentNames } from './resource-names.ts'

const ID = new RegExp(String(names.buildId.pattern))

/** Older ones are found by their whole id only. */
const MAX_SEEN = 1000
const MAX_SHOWN = 5

export const isWholeId = (text: string): boolean => ID.test(text)

/** The id in a text, or the end of one. Checked before any request. */
export function tailIn(text: string, what: string): string {
  const tail = text.slice(text.lastIndexOf('/') + 1)
  if (isWholeId(tail) || isIdTail(tail)) return tail
  throw new UsageError(`'${text}' is not the id of a ${what}: give its last 8 characters, or all of it`)
}

type Listed = { name: string; createTime?: string; state?: string }

/** Those whose id ends so. */
export const endingWith = <T extends Listed>(all: readonly T[], tail: string): T[] =>
  isIdTail(tail) ? all.filter(({ name }) => name.slice(name.lastIndexOf('/') + 1).endsWith(tail)) : []

/** The whole id of the build or the deployment that is meant. */
export async function wholeId(
  { service, names: path }: { service: { client: Pick<Client, 'first'> }; names: EnvironmentNames },
  list: 'builds' | 'deployments',
  tail: string,
): Promise<string> {
  if (isWholeId(tail)) return tail
  const { items, hasMore } = await service.client.first(`GET ${ENVIRONMENT}/${list}`, { path, limit: MAX_SEEN })
  const [found, ...others] = endingWith(items, tail)
  const what = list.slice(0, -1)
  if (!found) {
    const where = hasMore
      ? ` among the newest ${MAX_SEEN}: give its whole id`
      : `: 'headland ${list}' lists those there are`
    throw new UsageError(`there is no ${what} ${tail}${where}`)
  }
  if (others.length === 0) return idOf(found)
  throw new UsageError(
    `more than one ${what} ends with ${tail}: give more of the id${[found, ...others].slice(0, MAX_SHOWN).map(inWords).join('')}`,
  )
}

const idOf = ({ name }: Listed): string => name.slice(name.lastIndexOf('/') + 1)

const inWords = (one: Listed): string =>
  `\n${oneLine([idOf(one), one.state, one.createTime].filter((part) => typeof part === 'string').join('  '))}`
