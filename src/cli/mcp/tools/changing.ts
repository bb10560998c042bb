/** Tools that change what visitors see: each asks for consent first, and says what came of it. */
import { type Deployment, ENVIRONMENT } from '../../../client/index.ts'
import { schema, UsageError } from '../../../contract/index.ts'
import { previousDeployment } from '../../commands/deployments.ts'
import { noteOnRebuild } from '../../output/pin.ts'
import { oneLine } from '../../output/rows.ts'
import { tailIn, wholeId } from '../../project/ids.ts'
import { lastPart } from '../../project/where.ts'
import { facts } from '../results.ts'
import {
  AT_ENVIRONMENT,
  type At,
  atEnvironmentOf,
  CONFIRM,
  type Context,
  consent,
  type Given,
  type Tool,
  WAIT,
} from '../tool.ts'
import { DEPLOY_TOOL } from './deploy.ts'
import { followed } from './following.ts'

const texts = (description: string, maxLength: number) =>
  schema.optional(schema.array(schema.string({ minLength: 1, maxLength }), { description, maxItems: 100 }))

export const CHANGING_TOOLS: readonly Tool[] = [
  DEPLOY_TOOL,
  {
    name: 'rebuild',
    title: 'Rebuild',
    description: 'Builds the newest upload of an environment again, for fresh content, and makes it live.',
    kind: 'changes',
    input: schema.object({
      clean: schema.optional(schema.boolean({ description: 'Without anything kept from earlier builds.' })),
      ...CONFIRM,
      ...WAIT,
      ...AT_ENVIRONMENT,
    }),
    run: (context, given) =>
      atEnvironmentOf(context, given, async (at) => {
        const note = noteOnRebuild(at.environment)
        const effect = `Builds ${at.title} again${given.clean ? ' from scratch' : ''} and makes the result live.${note ? ` ${note}` : ''}`
        const refused = await consent(context, given, { title: at.title, effect })
        if (refused) return refused
        const asked = { path: at.names, body: { clean: given.clean === true }, signal: context.signal }
        return followed(context, at, await at.service.client.call(`POST ${ENVIRONMENT}:rebuild`, asked), given)
      }),
  },
  {
    name: 'purge',
    title: 'Purge the cache',
    description: 'Purges what the edge has stored of an environment: these paths and tags, or everything.',
    kind: 'changes',
    input: schema.object({
      paths: texts('Paths as `/news`. Without paths and tags everything is purged.', 2000),
      tags: texts('Values of Cache-Tag.', 1024),
      ...CONFIRM,
      ...AT_ENVIRONMENT,
    }),
    run: (context, given) =>
      atEnvironmentOf(context, given, async (at) => {
        const { paths, tags } = given as { paths?: string[]; tags?: string[] }
        // An empty list must not purge everything.
        if (paths?.length === 0 || tags?.length === 0)
          throw new UsageError('a list is empty: leave it out to purge everything')
        const wrong = paths?.find((path) => !path.startsWith('/'))
        if (wrong !== undefined) throw new UsageError(`'${wrong}' is not a path: it begins with a slash, as /news`)
        const what =
          [...(paths ?? []), ...(tags ?? []).map((tag) => `the tag ${tag}`)].map(oneLine).join(', ') || 'everything'
        const refused = await consent(context, given, { title: at.title, effect: `Purges ${what} of ${at.title}.` })
        if (refused) return refused
        const body = { ...(paths ? { paths } : {}), ...(tags ? { tags } : {}) }
        await at.service.client.call(`POST ${ENVIRONMENT}:clearCache`, { path: at.names, body, signal: context.signal })
        const { freshness } = at.environment
        // Some apps keep pages in caches that a purge does not reach.
        const advice = freshness && freshness.purge !== 'PAGES' ? freshness.advice : undefined
        return facts({ environment: at.title, purged: what, advice })
      }),
  },
  {
    name: 'activate_deployment',
    title: 'Roll back or forward',
    description:
      'Makes another deployment of an environment live, without a build. `previous` is the one before the live one.',
    kind: 'changes',
    input: schema.object({
      deployment: schema.string({
        description: 'Its id, the last 8 characters of that, or `previous`.',
        minLength: 1,
        maxLength: 64,
      }),
      ...CONFIRM,
      ...WAIT,
      ...AT_ENVIRONMENT,
    }),
    run: (context, given) => atEnvironmentOf(context, given, (at) => activate(context, at, given)),
  },
]

async function activate(context: Context, at: At, given: Given) {
  const tail = given.deployment === 'previous' ? undefined : tailIn(given.deployment, 'deployment')
  const id = tail === undefined ? lastPart(await previousDeployment(at)) : await wholeId(at, 'deployments', tail)
  const path = { ...at.names, deployment: id }
  const route = `${ENVIRONMENT}/deployments/{deployment}` as const
  const one = await at.service.client.call(`GET ${route}`, { path, signal: context.signal })
  const refused = await consent(context, given, {
    title: at.title,
    effect: `Makes ${inWords(one)} live in ${at.title}.`,
  })
  if (refused) return refused
  const operation = await at.service.client.call(`POST ${route}:activate`, { path, signal: context.signal })
  return followed(context, at, operation, given)
}

const inWords = (one: Deployment): string =>
  `the deployment ${lastPart(one)}${one.message ? ` (${oneLine(one.message)})` : ''}${one.liveTime ? `, which was live on ${one.liveTime},` : ''}`
