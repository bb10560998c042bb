/** What changed in the content of the CMS from one build to another. */
import type { Environments } from '../../../apps/index.ts'
import { toRfc3339 } from '../../../base/index.ts'
import type { Builds } from '../../../builds/index.ts'
import { names, resources } from '../../../contract/index.ts'
import type { Snapshots } from '../../../snapshots/index.ts'
import { environmentOf } from '../../environment-of.ts'
import { type Route, route } from '../../route.ts'

const BUILD = '/v1/accounts/{account}/apps/{app}/environments/{environment}/builds/{build}'

type Parts = {
  environments: Environments
  builds: Pick<Builds, 'require'>
  snapshots: Pick<Snapshots, 'compare'>
}

export function contentRoutes({ environments, builds, snapshots }: Parts): Route[] {
  return [
    route({
      method: 'GET',
      path: `${BUILD}/contentDiff`,
      tag: 'Builds',
      summary: 'Compare the content that two builds got from the CMS',
      access: 'developer',
      query: resources.contentDiffQuery,
      reply: resources.contentDiff,
      problems: ['ENVIRONMENT_NOT_FOUND', 'BUILD_NOT_FOUND', 'CONTENT_NOT_RECORDED', 'CONTENT_TOO_LARGE'],
      async handle(call) {
        const { path, at } = await environmentOf(environments, call)
        const before = await builds.require(path, call.query.from)
        const after = await builds.require(path, call.params.build)
        const environment = { accountId: path.accountId, id: path.environmentId }
        const { from, to, ...difference } = await snapshots.compare(environment, before.id, after.id)
        return {
          from: names.buildResource(at, before.id),
          fromTime: toRfc3339(from.createTime),
          to: names.buildResource(at, after.id),
          toTime: toRfc3339(to.createTime),
          ...difference,
        }
      },
    }),
  ]
}
