/**
 * Accounts are kept apart on every route of the API, and roles within one account. The routes are read from the document
 * that the service serves: a new route fails here until `REQUESTS` says how to call it.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { resources } from '../../../src/contract/index.ts'
import { makeAccount } from '../../support/e2e/account.ts'
import { makeCertificate } from '../../support/edge/tls.ts'
import { deploy, formOf, page } from '../../support/service/deploy.ts'
import { createApp, createEnvironment } from '../../support/service/environment.ts'
import type { ApiResponse, Login } from '../../support/service/service.ts'
import { service } from './service.ts'

/** A query and a body with which the route would succeed, by operationId. */
const REQUESTS: Record<string, { query?: string; body?: unknown }> = {
  postV1AccountsAccountApps: { query: '?appId=intruder', body: { region: 'regions/UK', uploadable: {} } },
  getV1AccountsAccountApps: {},
  getV1AccountsAccountAppsApp: {},
  deleteV1AccountsAccountAppsApp: { query: '?force=true' },
  postV1AccountsAccountAppsAppEnvironments: {
    body: { displayName: 'Intruder', branch: 'uploadable', cmsEnvironment: 'cms' },
  },
  getV1AccountsAccountAppsAppEnvironments: {},
  getV1AccountsAccountAppsEnvironments: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironment: {},
  patchV1AccountsAccountAppsAppEnvironmentsEnvironment: { body: { displayName: 'Intruder' } },
  deleteV1AccountsAccountAppsAppEnvironmentsEnvironment: {},
  postFuV1AccountsAccountAppsAppEnvironmentsEnvironmentUpload: { body: formOf(page('intruder')) },
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentRebuild: { body: {} },
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentUnpin: {},
  patchV1AccountsAccountAppsApp: { body: { previews: { maxCount: 1 } } },
  postV1AccountsAccountAppsAppPreview: { body: { branch: 'intruder' } },
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentPromote: {
    body: { target: '01a1df1b-dc8d-76d9-8c01-a1b0dc8fbb67' },
  },
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentSchedules: {},
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentSchedules: { body: { action: 'REBUILD', cron: '@daily' } },
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentSchedulesSchedule: {},
  patchV1AccountsAccountAppsAppEnvironmentsEnvironmentSchedulesSchedule: { body: { paused: true } },
  deleteV1AccountsAccountAppsAppEnvironmentsEnvironmentSchedulesSchedule: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentPublishes: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentPublishTimes: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentBadgeSvg: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentRepository: {},
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentRepository: {
    body: { url: 'https://git.example.com/a/b', deployKey: 'none' },
  },
  patchV1AccountsAccountAppsAppEnvironmentsEnvironmentRepository: { body: { sendsStatuses: false } },
  deleteV1AccountsAccountAppsAppEnvironmentsEnvironmentRepository: {},
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentRepositoryFetch: {},
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentRepositoryRegenerate: {},
  postWhV1AccountsAccountAppsAppEnvironmentsEnvironmentRepositoryPush: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentScreenshot: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentTrace: { query: '?url=/' },
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentClearCache: { body: { paths: ['/'] } },
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentBuilds: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentBuildsBuild: {},
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentBuildsBuildCancel: { body: {} },
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentBuildsBuildContentDiff: {
    query: '?from=0199e7c0-0000-7000-8000-000000000000',
  },
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentBuildsBuildLog: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentDeployments: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentDeploymentsDeployment: {},
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentDeploymentsDeploymentActivate: { body: {} },
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentLogs: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentOperations: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentOperationsOperation: {},
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentOperationsOperationWait: { query: '?timeout=1s', body: {} },
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentOperationsOperationCancel: { body: {} },
  getV1AccountsAccountNotificationTargets: {},
  postV1AccountsAccountNotificationTargets: {
    body: { displayName: 'Intruder', kind: 'SLACK', url: 'https://intruder.invalid/hook' },
  },
  getV1AccountsAccountNotificationTargetsNotificationTarget: {},
  patchV1AccountsAccountNotificationTargetsNotificationTarget: { body: { enabled: false } },
  deleteV1AccountsAccountNotificationTargetsNotificationTarget: {},
  postV1AccountsAccountNotificationTargetsNotificationTargetTest: {},
  postV1AccountsAccountNotificationTargetsNotificationTargetRegenerateSecret: {},
  getV1AccountsAccountNotificationTargetsNotificationTargetDeliveries: {},
  getV1AccountsAccountCredentials: {},
  postV1AccountsAccountCredentials: { body: { role: 'owner' } },
  deleteV1AccountsAccountCredentialsCredential: {},
  getV1AccountsAccountCertificates: {},
  postV1AccountsAccountCertificates: { body: { chain: 'none', privateKey: 'none' } },
  getV1AccountsAccountCertificatesCertificate: {},
  deleteV1AccountsAccountCertificatesCertificate: {},
  postV1AccountsAccountCertificatesCertificateRetry: {},
  getV1AccountsAccountUsers: {},
  postV1AccountsAccountUsers: { body: { email: 'intruder@example.com', role: 'owner' } },
  patchV1AccountsAccountUsersUser: { body: { role: 'owner' } },
  deleteV1AccountsAccountUsersUser: {},
  getV1AccountsAccountUsage: {},
  getV1AccountsAccountRunningOperations: {},
  getV1AccountsAccountActivity: {},
  getV1AccountsAccountTrafficSummaries: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentTraffic: { query: '?range=1h' },
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentTrafficPaths: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentRequests: { query: '?status=5xx' },
  getV1AccountsAccountAuditEvents: { query: '?action=LOG_IN' },
  getV1AccountsAccountEvents: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentUsage: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentDomains: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentDomainsCheck: {},
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentDomainsReplace: { body: { domains: ['intruder.example.com'] } },
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentWebhooks: { body: {} },
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentWebhooks: {},
  patchV1AccountsAccountAppsAppEnvironmentsEnvironmentWebhooks: { body: { quietSeconds: 1 } },
  postV1AccountsAccountAppsAppEnvironmentsEnvironmentWebhooksRegenerate: { body: {} },
  deleteV1AccountsAccountAppsAppEnvironmentsEnvironmentWebhooks: {},
  getV1AccountsAccountAppsAppEnvironmentsEnvironmentTriggers: {},
  postWhV1AccountsAccountAppsAppEnvironmentsEnvironmentWebhooksWebhookAction: { query: '?token=guessed' },
  getWhV1AccountsAccountAppsAppEnvironmentsEnvironmentWebhooksWebhookActionOperationsOperation: {
    query: '?token=guessed',
  },
  getV1DomainsAllowed: { query: '?domain=intruder.example.com' },
  getV1Accounts: {},
  getV1Regions: {},
  getV1Examples: {},
  getV1ExamplesExampleZip: {},
  getV1Isolation: {},
  getV1Cluster: {},
  postV1Session: { body: { email: 'unknown@example.com', password: 'wrong' } },
  getV1Session: {},
  deleteV1Session: {},
  postV1SessionInvitationsInvitationAccept: {},
  postV1SessionInvitationsInvitationDecline: {},
  postV1SessionChangePassword: { body: { password: 'wrong', newPassword: 'something-longer' } },
  getHealthz: {},
  getReadyz: {},
  getMetrics: {},
  getOpenapiJson: {},
  getDocs: {},
}

const [OURS, THEIRS] = ['ours', 'theirs']
const UNUSED_ID = '0199e7c0-0000-7000-8000-000000000000'

/** A valid id that does not exist. */
const ABSENT: Record<string, string> = {
  account: 'does-not-exist',
  app: 'does-not-exist',
  environment: UNUSED_ID,
  operation: UNUSED_ID,
  build: UNUSED_ID,
  deployment: UNUSED_ID,
  credential: UNUSED_ID,
  certificate: UNUSED_ID,
  schedule: UNUSED_ID,
  notificationTarget: UNUSED_ID,
  user: UNUSED_ID,
  invitation: UNUSED_ID,
  example: 'does-not-exist',
}

for (const account of [OURS, THEIRS]) await makeAccount(service, account)
const [owner, developer, viewer, stranger] = await Promise.all([
  service.login('owner', OURS),
  service.login('developer', OURS),
  service.login('viewer', OURS),
  service.login('owner', THEIRS),
])
const strangersCookie = await logIn('stranger@example.com', THEIRS)

/** Values for the path parameters, each of something that exists in the account. */
type Furniture = Record<
  | 'account'
  | 'app'
  | 'environment'
  | 'operation'
  | 'schedule'
  | 'notificationTarget'
  | 'build'
  | 'deployment'
  | 'credential'
  | 'certificate'
  | 'user'
  | 'invitation'
  | 'example',
  string
>

async function furnish(as: Login, account: string, app: string): Promise<Furniture> {
  await createApp(service, as, { account, app })
  const body = {
    displayName: 'Production',
    branch: 'uploadable',
    cmsEnvironment: 'cms',
    shellVariables: [{ key: 'SECRET', value: `of ${account}` }],
  }
  const { name } = await createEnvironment(service, as, { account, app, body })
  const live = await deploy(service, as, name, page(account))
  const { json } = await service.call(`/v1/${name}/operations`, { as })
  await service.call(`/v1/${name}/webhooks`, { method: 'POST', as })
  const issued = await service.call(`/v1/accounts/${account}/credentials`, { method: 'POST', as, body: {} })
  const domain = `${app}.${account}.example.com`
  await service.call(`/v1/${name}/domains:replace`, { method: 'POST', as, body: { domains: [domain] } })
  const { cert, key } = await makeCertificate({ after }, { names: [domain] })
  const uploaded = await service.call(`/v1/accounts/${account}/certificates`, {
    method: 'POST',
    as,
    body: { chain: cert, privateKey: key },
  })
  assert.equal(uploaded.status, 200, uploaded.text)
  const scheduled = await service.call(`/v1/${name}/schedules`, {
    method: 'POST',
    as,
    body: { action: 'REBUILD', cron: '@yearly' },
  })
  assert.equal(scheduled.status, 200, scheduled.text)
  const targeted = await service.call(`/v1/accounts/${account}/notificationTargets`, {
    method: 'POST',
    as,
    body: { displayName: app, kind: 'WEBHOOK', url: 'https://receiver.invalid/hook' },
  })
  assert.equal(targeted.status, 200, targeted.text)
  const added = await service.call(`/v1/accounts/${account}/users`, {
    method: 'POST',
    as,
    body: { email: `${app}@${account}.example.com`, role: 'viewer' },
  })
  return {
    account,
    app,
    environment: last(name),
    operation: last(json.operations[0].name),
    build: last(live.metadata.build),
    deployment: last(live.metadata.deployment),
    credential: issued.json.userId,
    certificate: last(uploaded.json.name),
    schedule: last(scheduled.json.name),
    notificationTarget: last(targeted.json.name),
    user: last(added.json.name),
    // Not of the account: an invitation belongs to its user.
    invitation: last(added.json.name),
    // Of the service.
    example: 'welcome',
  }
}

const last = (name: string): string => name.split('/').at(-1) ?? ''

const ours = await furnish(owner, OURS, 'shop')
const besideOurs = await furnish(owner, OURS, 'blog')
/** Their app has the name of ours: only the account differs. */
const theirs = await furnish(stranger, THEIRS, 'shop')
const theirsAlone = await furnish(stranger, THEIRS, 'theirs-alone')

async function logIn(email: string, account: string): Promise<string> {
  const made = JSON.parse(
    await service.operator('users', 'create', email, '--account', account, '--role', 'owner', '--json'),
  )
  const { status, headers } = await service.call('/v1/session', { method: 'POST', body: made })
  assert.equal(status, 200)
  return headers.get('set-cookie')?.split(';')[0] ?? ''
}

type Access = 'public' | 'known' | 'session' | 'operator' | resources.Role
type Route = { operationId: string; method: string; path: string; access: Access; query: string[] }
type Documented = { operationId: string; 'x-access': Access; parameters: { name: string; in: string }[] }
type Document = { paths: Record<string, Record<string, Documented>> }

const document: Document = (await service.call('/openapi.json')).json
const routes: Route[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId, 'x-access': access, parameters }]) => ({
    operationId,
    method: method.toUpperCase(),
    path,
    access,
    query: parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
  })),
)
/**
 * A webhook's URL names an account too, but is protected by its token, as `webhooks.ts` shows; and a badge is for everyone
 * where it is on, as `badge.ts` shows.
 */
const ofAccounts = routes.filter(
  ({ path }) => path.includes('{account}') && !path.startsWith('/wh/') && !path.endsWith('/badge.svg'),
)
const closed = routes.filter(({ access }) => access !== 'public')

const parametersOf = ({ path }: Route): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

type Caller = { as?: Login; headers?: Record<string, string>; query?: string }

function call(route: Route, values: Record<string, string>, caller: Caller = {}): Promise<ApiResponse> {
  const { query = '', body } = REQUESTS[route.operationId] ?? {}
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    assert.ok(values[name], `there is no value for {${name}}: furnish() must create one`)
    return values[name]
  })
  return service.call(`${path}${caller.query ?? query}`, {
    method: route.method,
    ...(body === undefined ? {} : { body }),
    ...(caller.as ? { as: caller.as } : {}),
    ...(caller.headers ? { headers: caller.headers } : {}),
  })
}

/** Every part of a response by which a caller could distinguish it. */
function visible({ status, headers, text }: ApiResponse) {
  const own = ['date', 'x-request-id']
  return { status, text, headers: [...headers].filter(([name]) => !own.includes(name)) }
}

/** All resources of an account. */
async function inventory(as: Login, modules: Furniture[]) {
  const account = `/v1/accounts/${modules[0]?.account}`
  const paths = [
    `${account}/apps`,
    `${account}/credentials`,
    `${account}/users`,
    `${account}/notificationTargets`,
    ...modules.flatMap(({ app, environment }) => [
      `${account}/apps/${app}/environments?view=FULL`,
      `${account}/apps/${app}/environments/${environment}/operations`,
      `${account}/apps/${app}/environments/${environment}/webhooks`,
      `${account}/apps/${app}/environments/${environment}/triggers`,
    ]),
  ]
  const answers = await Promise.all(paths.map((path) => service.call(path, { as })))
  return answers.map(({ status, json }, index) => ({ path: paths[index], status, json }))
}

const oursBefore = await inventory(owner, [ours, besideOurs])
const theirsBefore = await inventory(stranger, [theirs, theirsAlone])

test('every route of the document has an entry that says how to call it, and every entry a route', () => {
  assert.deepEqual(routes.map(({ operationId }) => operationId).sort(), Object.keys(REQUESTS).sort())
})

test('every route that names an account asks for a role in it', () => {
  assert.ok(ofAccounts.length > 0)
  for (const { operationId, access } of ofAccounts) {
    assert.ok(resources.ROLES.includes(access as resources.Role), `${operationId} is open to: ${access}`)
  }
})

for (const route of ofAccounts) {
  const name = `${route.method} ${route.path}`

  test(`${name} answers an owner of another account as if the account did not exist`, async () => {
    for (const caller of [{ as: stranger }, { headers: { cookie: strangersCookie } }]) {
      const answer = await call(route, ours, caller)
      assert.equal(answer.status, 404, answer.text)
      assert.equal(answer.json.error.status, 'NOT_FOUND')
      assert.equal(answer.reason, 'ACCOUNT_NOT_FOUND')
      const absent = await call(route, { ...ours, account: ABSENT.account ?? '' }, caller)
      assert.deepEqual(visible(answer), visible(absent))
    }
  })
}

for (const route of closed) {
  const name = `${route.method} ${route.path}`

  const anonymous: [string, Caller, string][] = [
    ['without credentials', {}, 'CREDENTIALS_REQUIRED'],
    ['with a wrong password', { as: { ...owner, password: stranger.password } }, 'CREDENTIALS_WRONG'],
    ['with an unknown user id', { as: { ...owner, userId: UNUSED_ID } }, 'CREDENTIALS_WRONG'],
    ['with a made-up session', { headers: { cookie: `headland_session=${'A'.repeat(43)}` } }, 'CREDENTIALS_WRONG'],
  ]
  for (const [how, caller, reason] of anonymous) {
    test(`${name} ${how} is answered 401`, async () => {
      const answer = await call(route, ours, caller)
      assert.equal(answer.status, 401, answer.text)
      assert.equal(answer.json.error.status, 'UNAUTHENTICATED')
      assert.equal(answer.reason, reason)
      assert.equal(answer.headers.get('www-authenticate'), 'Basic realm="headland"')
      const absent = await call(route, ABSENT, caller)
      assert.deepEqual(visible(answer), visible(absent))
    })
  }
}

const rank = (role: Access): number => resources.ROLES.indexOf(role as resources.Role)

for (const [role, as] of [
  ['viewer', viewer],
  ['developer', developer],
] as const) {
  for (const route of ofAccounts.filter(({ access }) => rank(access) > rank(role))) {
    test(`${route.method} ${route.path} is forbidden to a ${role}`, async () => {
      const answer = await call(route, ours, { as })
      assert.equal(answer.status, 403, answer.text)
      assert.equal(answer.json.error.status, 'PERMISSION_DENIED')
      assert.equal(answer.reason, 'ROLE_TOO_WEAK')
      assert.deepEqual(answer.json.error.details[0].metadata, { needed: route.access, role })
    })
  }
}

for (const route of ofAccounts.filter(({ query }) => query.includes('view'))) {
  test(`${route.method} ${route.path} shows the values of variables to developers and not to viewers`, async () => {
    assert.equal((await call(route, ours, { as: viewer, query: '?view=FULL' })).reason, 'ROLE_TOO_WEAK')
    assert.doesNotMatch((await call(route, ours, { as: viewer })).text, /of ours/)
    assert.doesNotMatch((await call(route, ours, { as: developer })).text, /of ours/)
    assert.match((await call(route, ours, { as: developer, query: '?view=FULL' })).text, /of ours/)
  })
}

type Mixture = { what: string; as: Login; home: Furniture; parameter: keyof Furniture; value: string }

const swaps = (
  what: string,
  as: Login,
  home: Furniture,
  foreign: Furniture,
  parameters: readonly (keyof Furniture)[],
): Mixture[] =>
  parameters.map((parameter) => ({ what: `${what} ${parameter}`, as, home, parameter, value: foreign[parameter] }))

const OF_AN_ENVIRONMENT = ['environment', 'operation', 'build', 'deployment'] as const

const MIXTURES: Mixture[] = [
  ...swaps("another account's", owner, ours, theirs, [...OF_AN_ENVIRONMENT, 'credential', 'user']),
  ...swaps("another account's", owner, ours, theirsAlone, ['app']),
  ...swaps('our', stranger, theirs, ours, [...OF_AN_ENVIRONMENT, 'credential', 'user']),
  ...swaps('our', stranger, theirs, besideOurs, ['app']),
  ...swaps("another app's", owner, ours, besideOurs, OF_AN_ENVIRONMENT),
]

for (const route of ofAccounts) {
  for (const { what, as, home, parameter, value } of MIXTURES.filter((mixture) =>
    parametersOf(route).includes(mixture.parameter),
  )) {
    test(`${route.method} ${route.path} with ${what} answers as if it did not exist`, async () => {
      const answer = await call(route, { ...home, [parameter]: value }, { as })
      assert.equal(answer.status, 404, answer.text)
      assert.equal(answer.json.error.status, 'NOT_FOUND')
      const absent = await call(route, { ...home, [parameter]: ABSENT[parameter] ?? '' }, { as })
      assert.deepEqual(visible(answer), visible(absent))
    })
  }
}

test('what operators see is no route to owners where no account operates the installation', async () => {
  for (const caller of [{ as: owner }, { as: stranger }, { headers: { cookie: strangersCookie } }]) {
    const answer = await service.call('/v1/cluster', caller)
    const absent = await service.call('/v1/absence', caller)
    assert.equal(answer.reason, 'ROUTE_NOT_FOUND')
    // That there is such a route is in the document; whether the connection stays open does not tell more.
    assert.equal(answer.text.replace('cluster', 'absence'), absent.text)
  }
})

test('a caller sees the accounts that they belong to, and no others', async () => {
  const shown = async (caller: Caller & object) => {
    const { json } = await service.call('/v1/accounts', caller)
    return json.accounts.map(({ name }: { name: string }) => name)
  }
  assert.deepEqual(await shown({ as: owner }), [`accounts/${OURS}`])
  assert.deepEqual(await shown({ as: stranger }), [`accounts/${THEIRS}`])
  assert.deepEqual(await shown({ headers: { cookie: strangersCookie } }), [`accounts/${THEIRS}`])
})

test('after all of this nothing of either account has changed', async () => {
  assert.deepEqual(await inventory(owner, [ours, besideOurs]), oursBefore)
  assert.deepEqual(await inventory(stranger, [theirs, theirsAlone]), theirsBefore)
  for (const { status } of [...oursBefore, ...theirsBefore]) assert.equal(status, 200)
})
