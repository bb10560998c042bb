/** The audit log on the real service: each way in which something is changed, and what must not be in it. */
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { statement } from '../../../src/storage/index.ts'
import { makeAccount } from '../../support/e2e/account.ts'
import { makeCertificate } from '../../support/edge/tls.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, formOf, page, untilDone } from '../../support/service/deploy.ts'
import { createCommandLine } from '../../support/service/headland.ts'
import type { Login } from '../../support/service/service.ts'
import { service } from './service.ts'

type Event = resources.AuditEvent
type Call = { method?: string; as?: Login; body?: unknown; headers?: Record<string, string> }

/** Accounts of its own: nothing else is in their logs. */
const [ACCOUNT, OTHER] = ['audited', 'audited-too']
await makeAccount(service, ACCOUNT)
await service.operator('accounts', 'create', OTHER)
const owner = await service.login('owner', ACCOUNT)
const OURS = `accounts/${ACCOUNT}`

async function list(query = '', account = ACCOUNT, as = owner): Promise<Event[]> {
  const { status, json, text } = await service.call(`/v1/accounts/${account}/auditEvents?pageSize=200${query}`, { as })
  assert.equal(status, 200, text)
  return json.auditEvents
}

/** Only what has come since. */
async function since<T>(work: () => Promise<T>): Promise<{ result: T; events: Event[] }> {
  const before = (await list())[0]?.name ?? ''
  const result = await work()
  return { result, events: (await list()).filter(({ name }) => name > before) }
}

/** Stands in every secret that a caller can send. */
const MARKER = 'cafe5ecre7'
const seen: string[] = []

/** Makes the call, which succeeds, and returns what the log has of it: one event. */
async function audited(path: string, call: Call): Promise<{ event: Event; json: never }> {
  const { result, events } = await since(() => service.call(path, { method: 'POST', as: owner, ...call }))
  assert.equal(result.status, 200, `${path}: ${result.text}`)
  assert.equal(events.length, 1, `${path} has ${events.map(({ action }) => action)}`)
  const [event] = events as [Event]
  seen.push(event.action)
  return { event, json: result.json as never }
}

const briefly = ({ action, resource, title, fields }: Event) => [action, resource, title, fields.join(' ')]
const brief = async (path: string, call: Call = {}) => briefly((await audited(path, call)).event)

let environment = ''

test('every change by the API has one event, with names and never with values', async () => {
  const body = { region: 'regions/UK', uploadable: {} }
  assert.deepEqual(await brief(`/v1/${OURS}/apps?appId=Shop`, { body }), [
    'CREATE_APP',
    `${OURS}/apps/Shop`,
    '',
    'region uploadable',
  ])

  // The name of an app is found in any letters; the log has it as it is.
  const made = await audited(`/v1/${OURS}/apps/SHOP/environments`, {
    body: {
      displayName: 'Live',
      branch: 'uploadable',
      cmsEnvironment: 'cms',
      shellVariables: [
        { key: 'KEPT', value: MARKER },
        { key: 'GONE', value: MARKER },
      ],
      protection: { password: MARKER },
    },
  })
  const operation = (made.json as resources.Operation).name
  environment = operation.replace(/\/operations\/.*/, '')
  assert.deepEqual(briefly(made.event), [
    'CREATE_ENVIRONMENT',
    environment,
    'Live',
    'displayName branch cmsEnvironment shellVariables.KEPT shellVariables.GONE protection',
  ])
  await untilDone(service, owner, operation)

  const variables = [{ key: 'KEPT' }, { key: 'NEW', value: MARKER }, { key: 'PUBLIC', value: MARKER, kind: 'PLAIN' }]
  const patched = await audited(`/v1/${environment}`, {
    method: 'PATCH',
    body: { production: true, shellVariables: variables, protection: { password: `${MARKER}2` } },
  })
  assert.deepEqual(briefly(patched.event), [
    'CHANGE_ENVIRONMENT',
    environment,
    'Live',
    'production shellVariables.GONE shellVariables.NEW shellVariables.PUBLIC protection',
  ])

  const { event: uploaded, json: build } = await audited(`/fu/v1/${environment}:upload`, { body: formOf(page(MARKER)) })
  assert.deepEqual(briefly(uploaded), ['UPLOAD', environment, 'Live', ''])
  await untilDone(service, owner, (build as resources.Operation).name)
  assert.deepEqual(await brief(`/v1/${environment}:rebuild`, { body: { clean: true } }), [
    'REBUILD',
    environment,
    'Live',
    'clean',
  ])
  const { json: waiting } = await service.call(`/v1/${environment}/operations`, { as: owner })
  await untilDone(service, owner, waiting.operations[0].name)
  assert.deepEqual(await brief(`/v1/${environment}:clearCache`, { body: { paths: [`/${MARKER}`] } }), [
    'PURGE_CACHE',
    environment,
    'Live',
    'paths',
  ])

  const domain = 'shop.example.com'
  assert.deepEqual(await brief(`/v1/${environment}/domains:replace`, { body: { domains: [domain] } }), [
    'CHANGE_DOMAINS',
    `${environment}/domains`,
    'Live',
    'domains',
  ])
  const { cert, key } = await makeCertificate({ after }, { names: [domain] })
  const { event: certified, json: certificate } = await audited(`/v1/${OURS}/certificates`, {
    body: { chain: cert, privateKey: key },
  })
  const certificateName = (certificate as resources.Certificate).name
  assert.deepEqual(briefly(certified), ['UPLOAD_CERTIFICATE', certificateName, domain, 'chain privateKey'])
  assert.deepEqual(await brief(`/v1/${certificateName}`, { method: 'DELETE' }), [
    'DELETE_CERTIFICATE',
    certificateName,
    domain,
    '',
  ])

  const webhooks = `${environment}/webhooks`
  assert.deepEqual(await brief(`/v1/${webhooks}`), ['CREATE_WEBHOOKS', webhooks, 'Live', ''])
  assert.deepEqual(await brief(`/v1/${webhooks}`, { method: 'PATCH', body: { quietSeconds: 1 } }), [
    'CHANGE_WEBHOOKS',
    webhooks,
    'Live',
    'quietSeconds',
  ])
  assert.deepEqual(await brief(`/v1/${webhooks}:regenerate`), ['REGENERATE_WEBHOOKS', webhooks, 'Live', ''])
  assert.deepEqual(await brief(`/v1/${webhooks}`, { method: 'DELETE' }), ['DELETE_WEBHOOKS', webhooks, 'Live', ''])

  const { event: scheduled, json: schedule } = await audited(`/v1/${environment}/schedules`, {
    body: { action: 'REBUILD', cron: '@yearly' },
  })
  const scheduleName = (schedule as resources.Schedule).name
  assert.deepEqual(briefly(scheduled), ['CREATE_SCHEDULE', scheduleName, 'Live', 'action cron'])
  assert.deepEqual(await brief(`/v1/${scheduleName}`, { method: 'PATCH', body: { paused: true } }), [
    'CHANGE_SCHEDULE',
    scheduleName,
    'Live',
    'paused',
  ])
  assert.deepEqual(await brief(`/v1/${scheduleName}`, { method: 'DELETE' }), [
    'DELETE_SCHEDULE',
    scheduleName,
    'Live',
    '',
  ])

  const { event: issued, json: credential } = await audited(`/v1/${OURS}/credentials`, { body: { displayName: 'ci' } })
  const credentialName = `${OURS}/credentials/${(credential as { userId: string }).userId}`
  assert.deepEqual(briefly(issued), ['CREATE_CREDENTIAL', credentialName, 'ci', 'displayName'])
  assert.deepEqual(await brief(`/v1/${credentialName}`, { method: 'DELETE' }), [
    'DELETE_CREDENTIAL',
    credentialName,
    'ci',
    '',
  ])

  const email = 'newcomer@example.com'
  const { event: added, json: member } = await audited(`/v1/${OURS}/users`, { body: { email, role: 'viewer' } })
  const userName = (member as { name: string }).name
  assert.deepEqual(briefly(added), ['ADD_USER', userName, email, 'email role'])
  assert.deepEqual(await brief(`/v1/${userName}`, { method: 'PATCH', body: { role: 'developer' } }), [
    'CHANGE_ROLE',
    userName,
    email,
    'role',
  ])
  assert.deepEqual(await brief(`/v1/${userName}`, { method: 'DELETE' }), ['REMOVE_USER', userName, email, ''])

  const { by, way, address } = added
  assert.deepEqual([by.kind, way, address], ['CREDENTIAL', 'API', '127.0.0.1'])
})

test('notification targets are in it, without their URLs and keys', async () => {
  const { event: told, json: target } = await audited(`/v1/${OURS}/notificationTargets`, {
    body: { displayName: 'Chat', kind: 'WEBHOOK', url: `https://203.0.113.1/${MARKER}` },
  })
  const targetName = (target as resources.NotificationTarget).name
  assert.deepEqual(briefly(told), ['CREATE_NOTIFICATION_TARGET', targetName, 'Chat', 'displayName kind url'])
  const url = `https://203.0.113.1/${MARKER}2`
  assert.deepEqual(await brief(`/v1/${targetName}`, { method: 'PATCH', body: { url, enabled: false } }), [
    'CHANGE_NOTIFICATION_TARGET',
    targetName,
    'Chat',
    'url enabled',
  ])
  assert.deepEqual(await brief(`/v1/${targetName}:regenerateSecret`), [
    'REGENERATE_NOTIFICATION_SECRET',
    targetName,
    'Chat',
    '',
  ])
  assert.deepEqual(await brief(`/v1/${targetName}`, { method: 'DELETE' }), [
    'DELETE_NOTIFICATION_TARGET',
    targetName,
    'Chat',
    '',
  ])
})

test('previews and promotions are in it, each of the environment that it changes', async () => {
  const app = `${OURS}/apps/Shop`
  const { event: allowed } = await audited(`/v1/${app}`, { method: 'PATCH', body: { previews: { secrets: true } } })
  assert.deepEqual(briefly(allowed), ['CHANGE_APP', app, '', 'previews'])
  const { event: opened, json: preview } = await audited(`/v1/${app}:preview`, { body: { branch: 'feature/a' } })
  const { name } = preview as resources.Environment
  assert.deepEqual(briefly(opened), ['OPEN_PREVIEW', name, 'feature/a', 'branch'])
  await deploy(service, owner, name, page(`${MARKER} preview`))
  const { event: promoted, json } = await audited(`/v1/${name}:promote`, { body: { target: environment } })
  assert.deepEqual(briefly(promoted), ['PROMOTE', environment, 'Live', 'target'])
  await untilDone(service, owner, (json as resources.Promotion).operation.name)
  await audited(`/v1/${name}`, { method: 'DELETE' })
})

test('a user is in the log with what they do in the portal: log in, change the password, join, roll back', async () => {
  const email = 'ann@example.com'
  const words = ['users', 'create', email, '--account', OTHER, '--role', 'owner', '--json']
  const { password } = JSON.parse(await service.operator(...words))
  const stranger = await service.login('owner', OTHER)
  const logIn = (secret: string) =>
    service.call('/v1/session', { method: 'POST', body: { email: ' ANN@example.com ', password: secret } })
  const cookie = (await logIn(password)).headers.get('set-cookie')?.split(';')[0] ?? ''
  const [login] = await list('', OTHER, stranger)
  assert.deepEqual(login && [login.action, login.by, login.way, login.title], [
    'LOG_IN',
    { kind: 'USER', name: email },
    'PORTAL',
    email,
  ])
  const inPortal = { headers: { cookie, origin: service.api } }
  const asUser = { as: undefined as never, ...inPortal }

  const invited = async () => {
    await audited(`/v1/${OURS}/users`, { body: { email, role: 'owner' } })
    const { json } = await service.call('/v1/session', inPortal)
    return json.invitations[0].name.split('/').at(-1)
  }
  const { event: declined } = await audited(`/v1/session/invitations/${await invited()}:decline`, asUser)
  assert.deepEqual([declined.action, declined.by.name], ['DECLINE_INVITATION', email])
  const invitation = await invited()
  const { event: joined } = await audited(`/v1/session/invitations/${invitation}:accept`, asUser)
  assert.deepEqual(
    [joined.action, joined.resource, joined.by.name],
    ['ACCEPT_INVITATION', `${OURS}/users/${invitation}`, email],
  )

  // The same change is in the log of each of their accounts.
  const { event: changed } = await audited('/v1/session:changePassword', {
    ...asUser,
    body: { password, newPassword: `${MARKER}-longer` },
  })
  assert.deepEqual([changed.action, changed.title, changed.fields], ['CHANGE_PASSWORD', email, []])
  assert.equal((await list('&action=CHANGE_PASSWORD', OTHER, stranger)).length, 1)

  // A rollback to an older archive pins it.
  await deploy(service, owner, environment, page('newer'))
  const { json: live } = await service.call(`/v1/${environment}/deployments`, inPortal)
  const older = live.deployments.at(-1).name
  const { event: activated, json: back } = await audited(`/v1/${older}:activate`, asUser)
  assert.deepEqual(briefly(activated), ['ACTIVATE', older, 'Live', ''])
  assert.deepEqual([activated.way, activated.by], ['PORTAL', { kind: 'USER', name: email }])
  await untilDone(service, owner, (back as resources.Operation).name)
  assert.deepEqual(briefly((await audited(`/v1/${environment}:unpin`, asUser)).event), [
    'UNPIN',
    environment,
    'Live',
    '',
  ])
})

test('the command line and the operator are in it, each by its name', async () => {
  const folder = await temporaryFolder({ after })
  const usual = {
    ...process.env,
    HOME: folder,
    HEADLAND_URL: service.api,
    HEADLAND_API_USER: owner.userId,
    HEADLAND_API_PASSWORD: owner.password,
  }
  const { headland } = createCommandLine(usual, folder)
  const { events: typed } = await since(() =>
    headland(['apps', 'create', 'typed', '--region', 'UK', '--account', ACCOUNT], { cwd: folder }),
  )
  assert.deepEqual(
    typed.map(({ action, way, by }) => [action, way, by.kind]),
    [['CREATE_APP', 'COMMAND_LINE', 'CREDENTIAL']],
  )

  const { username } = userInfo()
  const { events } = await since(async () => {
    await service.operator('credentials', 'create', '--account', ACCOUNT)
    await service.operator('users', 'create', 'bob@example.com', '--account', ACCOUNT)
    await service.operator('users', 'reset-password', 'bob@example.com')
    await service.operator('cms', 'set', 'blog', `https://${MARKER}@cms.example.com`, '--account', ACCOUNT)
    await assert.rejects(service.operator('users', 'create', 'bob@example.com', '--account', ACCOUNT))
  })
  assert.deepEqual(
    events.toReversed().map(({ action, title }) => [action, title]),
    [
      ['CREATE_CREDENTIAL', 'made by the operator'],
      ['ADD_USER', 'bob@example.com'],
      ['RESET_PASSWORD', 'bob@example.com'],
      ['CHANGE_CMS', 'blog'],
    ],
  )
  assert.ok(
    events.every(
      ({ by, way, address }) => by.kind === 'OPERATOR' && by.name === username && way === 'OPERATOR' && address === '',
    ),
  )
  const theirs = await list('&action=CREATE_ACCOUNT', OTHER, await service.login('owner', OTHER))
  assert.deepEqual(
    theirs.map(({ resource, title }) => [resource, title]),
    [[`accounts/${OTHER}`, OTHER]],
  )

  const shown = await headland(['audit', '--action', 'create-app', '--app', 'typed', '--account', ACCOUNT, '--json'], {
    cwd: folder,
  })
  assert.deepEqual(
    JSON.parse(shown.stdout).map(({ resource }: Event) => resource),
    [`${OURS}/apps/typed`],
  )
})

test('what is refused, what is read, and what changes nothing leaves no event', async () => {
  const viewer = await service.login('viewer', ACCOUNT)
  const asked: [number, string, Call][] = [
    [409, `/v1/${OURS}/apps?appId=Shop`, { body: { region: 'regions/UK', uploadable: {} } }],
    [403, `/v1/${OURS}/apps?appId=other`, { as: viewer, body: { region: 'regions/UK', uploadable: {} } }],
    [401, `/v1/${environment}:rebuild`, { as: { ...owner, password: 'wrong' } }],
    [404, `/v1/${environment}/webhooks:regenerate`, {}],
    [404, `/v1/${environment}/webhooks`, { method: 'DELETE' }],
    [409, `/v1/${environment}`, { method: 'PATCH', body: { displayName: 'x', etag: 'W/"stale"' } }],
    [409, `/v1/${environment}/domains:replace`, { body: { domains: [], etag: 'W/"stale"' } }],
    [401, '/v1/session', { as: undefined as never, body: { email: 'ann@example.com', password: 'wrong' } }],
    [200, `/fu/v1/${environment}:upload?validateOnly=true`, { body: formOf(page('x')) }],
    [200, `/v1/${environment}:unpin`, {}],
    [200, `/v1/${environment}`, { method: 'GET' }],
  ]
  for (const [status, path, call] of asked) {
    const { result, events } = await since(() => service.call(path, { method: 'POST', as: owner, ...call }))
    assert.deepEqual([result.status, events.map(({ action }) => action)], [status, []], `${path}: ${result.text}`)
  }
})

test('a change whose event the database refuses is not made', async () => {
  const sql = await service.openSql()
  const { result, events } = await since(async () => {
    await sql.transaction((tx) => tx.query(statement`ALTER TABLE audit_events RENAME COLUMN way TO away`))
    try {
      return await service.call(`/v1/${OURS}/apps?appId=unseen`, {
        method: 'POST',
        as: owner,
        body: { region: 'regions/UK', uploadable: {} },
      })
    } finally {
      await sql.transaction((tx) => tx.query(statement`ALTER TABLE audit_events RENAME COLUMN away TO way`))
      await sql.close()
    }
  })
  assert.deepEqual([result.status, events], [500, []])
  assert.equal((await service.call(`/v1/${OURS}/apps/unseen`, { as: owner })).status, 404)
})

test('the log is read by owners, in pages and by filters; others see nothing of it', async () => {
  const path = `/v1/${OURS}/auditEvents`
  assert.equal((await service.call(path, { as: await service.login('developer', ACCOUNT) })).status, 403)
  assert.equal((await service.call(path, { as: await service.login('owner', OTHER) })).status, 404)
  const all = await list()
  const first = await service.call(`${path}?pageSize=2&by=ann@example.com`, { as: owner })
  const second = await service.call(`${path}?pageSize=2&by=ann@example.com&pageToken=${first.json.nextPageToken}`, {
    as: owner,
  })
  const byAnn = all.filter(({ by }) => by.name === 'ann@example.com')
  assert.deepEqual([...first.json.auditEvents, ...second.json.auditEvents], byAnn.slice(0, 4))
  assert.equal(
    (await service.call(`${path}?pageToken=${first.json.nextPageToken}`, { as: owner })).reason,
    'PAGE_TOKEN_INVALID',
  )

  const ofApp = await list(`&resource=${OURS}/apps/Shop`)
  assert.deepEqual(
    ofApp,
    all.filter(({ resource }) => resource.startsWith(`${OURS}/apps/Shop`)),
  )
  const { time } = all[3] as Event
  assert.ok((await list(`&endTime=${time}`)).every((event) => event.time < time))
  assert.ok((await list(`&startTime=${time}`)).every((event) => event.time >= time))
  for (const query of ['startTime=yesterday', `resource=accounts/${OTHER}/apps/x`, 'action=LOOK']) {
    assert.equal((await service.call(`${path}?${query}`, { as: owner })).status, 400, query)
  }
})

test('a cancellation is in it once, deletions too, and secrets in no event of any of these changes', async () => {
  const slow = { 'package.json': JSON.stringify({ scripts: { build: 'sleep 300', start: 'node x' } }) }
  const { json: building } = await audited(`/fu/v1/${environment}:upload`, { body: formOf(slow) })
  const { build } = (building as resources.Operation).metadata
  const { event: cancelled } = await audited(`/v1/${build}:cancel`, {})
  assert.deepEqual(briefly(cancelled), ['CANCEL', build, 'Live', ''])
  const { events: twice } = await since(() => service.call(`/v1/${build}:cancel`, { method: 'POST', as: owner }))
  assert.deepEqual(twice, [])

  const { event } = await audited(`/v1/${environment}`, { method: 'DELETE' })
  assert.deepEqual(briefly(event), ['DELETE_ENVIRONMENT', environment, 'Live', ''])
  const { events: again } = await since(() => service.call(`/v1/${environment}`, { method: 'DELETE', as: owner }))
  assert.deepEqual(again, [])
  assert.deepEqual(briefly((await audited(`/v1/${OURS}/apps/Shop?force=true`, { method: 'DELETE' })).event), [
    'DELETE_APP',
    `${OURS}/apps/Shop`,
    '',
    '',
  ])
  const sql = await service.openSql()
  const rows = JSON.stringify(await sql.query(statement`SELECT * FROM audit_events`))
  await sql.close()
  assert.ok(rows.includes('shellVariables.NEW') && seen.length > 20)
  assert.doesNotMatch(rows, new RegExp(MARKER))
  assert.doesNotMatch(rows, /PRIVATE KEY|password_hash|token=|whsec_/)
})
