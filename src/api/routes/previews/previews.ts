import { fieldInvalid, resources } from '../../../contract/index.ts'
import type { Promote } from '../../../deployments/index.ts'
import type { Previews } from '../../../previews/index.ts'
import { preconditionsOf } from '../../preconditions.ts'
import { renderApp, renderOperation } from '../../render.ts'
import { type Route, route } from '../../route.ts'
import { type ShowParts, showEnvironments } from '../environments.ts'

const APP = '/v1/accounts/{account}/apps/{app}'
const ENVIRONMENTS = '/v1/accounts/{account}/apps/{app}/environments'
const tag = 'Previews'

type Parts = ShowParts & { previews: Previews; promote: Promote }

export const previewRoutes = (parts: Parts): Route[] => [
  route({
    method: 'PATCH',
    path: APP,
    tag,
    summary: 'Change the settings of an app: those of its previews',
    access: 'developer',
    audited: 'CHANGE_APP',
    body: resources.changedApp,
    takesEtag: true,
    reply: resources.app,
    problems: ['APP_NOT_FOUND'],
    async handle({ account, params, body, request }) {
      if (!body.previews) throw fieldInvalid('previews', 'is required: there is nothing else to change')
      const change = { given: body.previews, preconditions: preconditionsOf(request, body) }
      return renderApp(account, await parts.previews.changeSettings(account, params.app, change))
    },
  }),
  route({
    method: 'POST',
    path: `${APP}:preview`,
    tag,
    summary: 'Read the preview of a branch, which is created if there is none',
    access: 'developer',
    audited: 'OPEN_PREVIEW',
    auditedPath: ENVIRONMENTS,
    body: resources.newPreview,
    reply: resources.environment,
    problems: ['APP_NOT_FOUND', 'PREVIEWS_DISABLED', 'PREVIEW_LIMIT', 'PREVIEW_WITHOUT_ENVIRONMENT', 'ACCOUNT_LIMIT'],
    async handle({ account, params, body: { branch }, principal: { requester } }) {
      const found = await parts.previews.open(account, params.app, branch, requester)
      return (await showEnvironments(parts, account, [found], 'BASIC'))[0]
    },
  }),
  route({
    method: 'POST',
    path: `${ENVIRONMENTS}/{environment}:promote`,
    tag,
    summary: 'Make what is live in an environment live in another one of the same app',
    access: 'developer',
    audited: 'PROMOTE',
    auditedPath: ENVIRONMENTS,
    body: resources.newPromotion,
    reply: resources.promotion,
    problems: [
      'ENVIRONMENT_NOT_FOUND',
      'ENVIRONMENT_DELETING',
      'NOTHING_TO_PROMOTE',
      'PROMOTION_NEEDS_BUILD',
      'TOO_MANY_CHANGES',
      'QUOTA_EXCEEDED',
      'DISK_FULL',
    ],
    async handle({ account, params: { app, environment }, body, principal: { requester } }) {
      const to = targetOf({ account: account.name, app }, body.target)
      const wanted = { from: environment, to, mayBuild: body.build ?? true, requestedBy: requester }
      const { operation, differing } = await parts.promote(account, app, wanted)
      return { operation: renderOperation(account, operation), built: differing.length > 0, differing }
    },
  }),
]

/** The target's id. A whole name has to be one of the same app. */
function targetOf(at: { account: string; app: string }, target: string): string {
  const [id = '', environments, app, apps, account, accounts, ...more] = target.split('/').toReversed()
  const isWhole =
    environments === 'environments' &&
    apps === 'apps' &&
    accounts === 'accounts' &&
    app?.toLowerCase() === at.app.toLowerCase() &&
    account === at.account &&
    more.length === 0
  if (target !== id && !isWhole) throw fieldInvalid('target', 'must be an environment of the same app')
  return id
}
