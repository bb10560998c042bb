/** Purges what the edge and Next.js have cached: everything, or the given paths and tags. */
import { ENVIRONMENT } from '../../client/index.ts'
import { UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { oneLine, printResult } from '../output/rows.ts'
import { atEnvironment } from '../project/where.ts'

export async function purge(call: ClientCall): Promise<undefined> {
  const paths = call.positionals
  const tags = (call.options.tag ?? []) as string[]
  // An empty argument, as from an unset variable of a script, must not purge everything.
  const wrong = paths.find((path) => !path.startsWith('/'))
  if (wrong !== undefined) throw new UsageError(`'${wrong}' is not a path: it begins with a slash, as /news`)
  if (tags.includes('')) throw new UsageError('--tag is empty')
  const { service, names, environment } = await atEnvironment(call)
  const { client } = service
  const body = { ...(paths.length > 0 ? { paths } : {}), ...(tags.length > 0 ? { tags } : {}) }
  const done = await client.call(`POST ${ENVIRONMENT}:clearCache`, { path: names, body })
  // Some apps keep pages in caches that a purge does not reach; the service has advice for them.
  const { freshness } = await client.call(`GET ${ENVIRONMENT}`, { path: names })
  const more = freshness && freshness.purge !== 'PAGES' ? ` ${freshness.advice}` : ''
  const what = [...paths, ...tags.map((tag) => `the tag ${oneLine(tag)}`)].join(', ')
  printResult(
    call,
    done,
    `Purged ${what || 'everything that was stored'} of ${oneLine(environment.displayName)}.${more}`,
  )
}
