/** Notification targets over the API, and notices on their way to real receivers: an HTTP server and a mail server. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { createIds, systemClock } from '../../../src/base/index.ts'
import { createNotices, type NewNotice } from '../../../src/notices/index.ts'
import { statement } from '../../../src/storage/index.ts'
import { NO_MAIL_SERVER, startMailServer } from '../../support/mail/mail-server.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

type Received = { path: string; headers: IncomingHttpHeaders; body: string }

const received: Received[] = []
/** What a path answers; 204 unless it is told otherwise. */
const answers = new Map<string, (response: ServerResponse, count: number) => void>()
const receiver = createServer(async (request, response) => {
  const path = request.url ?? ''
  const body = (await request.toArray()).join('')
  received.push({ path, headers: request.headers, body })
  const answer = answers.get(path)
  if (answer) answer(response, at(path).length)
  else response.writeHead(204).end()
})
after(() => {
  receiver.close()
  receiver.closeAllConnections()
})
await once(receiver.listen(0, '127.0.0.1'), 'listening')
const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`
const at = (path: string) => received.filter((one) => one.path === path)

const mail = NO_MAIL_SERVER ? undefined : await startMailServer({ after })
const service = await startService(
  { after },
  {
    settings: {
      HEADLAND_EGRESS_HOSTS: host,
      ...(mail && {
        HEADLAND_SMTP_URL: `smtp://localhost:${mail.port}`,
        HEADLAND_SMTP_FROM: 'headland@example.com',
        HEADLAND_SMTP_CA_FILE: mail.certificateFile,
      }),
    },
  },
)
const as = await service.login()
const TARGETS = '/v1/accounts/default/notificationTargets'

const make = (body: object) => service.call(TARGETS, { method: 'POST', as, body: { displayName: 'Team', ...body } })
const webhook = async (path: string, more: object = {}) =>
  (await make({ kind: 'WEBHOOK', url: `http://${host}${path}`, ...more })).json
const deliveriesOf = async ({ name }: { name: string }) =>
  (await service.call(`/v1/${name}/deliveries`, { as })).json.deliveries

/** As the service records what happens. */
async function record(given: Partial<NewNotice> = {}) {
  const sql = await service.openSql()
  const [account] = await sql.query<{ id: string }>(statement`SELECT id FROM accounts WHERE name = 'default'`)
  const notices = createNotices({ clock: systemClock, newId: createIds(systemClock) })
  await sql.transaction((tx) =>
    notices.record(tx, {
      accountId: account?.id ?? '',
      kind: 'BUILD_FAILED',
      appName: 'shop',
      resource: 'accounts/default/apps/shop/environments/1/builds/2',
      title: 'The build of shop failed',
      text: 'npm ERR! <!channel>',
      link: '/accounts/default',
      ...given,
    }),
  )
  await sql.close()
}

const signature = (secret: string, { headers, body }: Received): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'))
    .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
    .digest('base64')}`

test('a target is made, read, changed with its etag, listed and deleted, and its URL is never shown', async () => {
  const url = `http://${host}/services/T0001/very-secret`
  const { status, json: made, text } = await make({ kind: 'SLACK', url, apps: ['shop'] })
  assert.equal(status, 200, text)
  assert.doesNotMatch(text, /very-secret|whsec_/)
  assert.deepEqual(
    [made.host, made.enabled, made.apps, made.noticeKinds.includes('BUILD_LIVE')],
    [host, true, ['shop'], false],
  )
  const read = await service.call(`/v1/${made.name}`, { as })
  assert.deepEqual([read.json, read.headers.get('etag')], [made, made.etag])
  const body = { enabled: false, etag: made.etag }
  const off = await service.call(`/v1/${made.name}`, { method: 'PATCH', as, body })
  assert.deepEqual([off.status, off.json.enabled], [200, false])
  const stale = await service.call(`/v1/${made.name}`, { method: 'PATCH', as, body })
  assert.deepEqual([stale.status, stale.reason], [409, 'ETAG_MISMATCH'])
  const listed = await service.call(TARGETS, { as })
  assert.deepEqual(listed.json.notificationTargets, [off.json])
  assert.equal((await service.call(`/v1/${made.name}`, { method: 'DELETE', as })).status, 200)
  assert.equal((await service.call(`/v1/${made.name}`, { as })).reason, 'NOTIFICATION_TARGET_NOT_FOUND')
})

test('an address inside, plain HTTP and what does not fit the kind are refused with the reason', async () => {
  const inside = ['https://127.0.0.1/', 'https://10.0.0.1/', 'https://[::ffff:169.254.169.254]/', 'https://localhost/x']
  for (const url of [...inside, 'http://example.com/', `https://${host.replace(/\d+$/, '1')}/`]) {
    const { status, reason } = await make({ kind: 'WEBHOOK', url })
    assert.deepEqual([status, reason], [400, 'ADDRESS_NOT_ALLOWED'], url)
  }
  for (const wrong of [{ kind: 'WEBHOOK' }, { kind: 'SLACK', url: 'https://a.example', addresses: ['a@example.com'] }])
    assert.equal((await make(wrong)).reason, 'FIELD_INVALID')
  for (const address of ['a@example.com\r\nBcc: b@example.com', 'a@example.com, b@example.com', '<a@example.com>'])
    assert.equal((await make({ kind: 'EMAIL', addresses: [address] })).reason, 'FIELD_INVALID')
})

test('a test notice is signed with the secret, and after a new one was made with both', async () => {
  const made = await webhook('/signed')
  assert.match(made.secret, /^whsec_/)
  const test = () => service.call(`/v1/${made.name}:test`, { method: 'POST', as })
  const { json: first } = await test()
  assert.deepEqual([first.kind, first.state, first.responseStatus, first.error], ['TEST', 'DELIVERED', 204, ''])
  const [call = assert.fail()] = at('/signed')
  assert.equal(call.headers['webhook-signature'], signature(made.secret, call))
  assert.equal(call.headers['webhook-id'], first.name.split('/').at(-1))
  assert.equal(JSON.parse(call.body).type, 'test')
  const { json: renewed } = await service.call(`/v1/${made.name}:regenerateSecret`, { method: 'POST', as })
  assert.notEqual(renewed.secret, made.secret)
  await test()
  const second = at('/signed')[1] ?? assert.fail()
  const both = [renewed.secret, made.secret].map((secret) => signature(secret, second)).join(' ')
  assert.equal(second.headers['webhook-signature'], both)
  assert.deepEqual((await deliveriesOf(made)).length, 2)
})

test('a test that fails says why, without the parts of the URL', async () => {
  answers.set('/refusing/secret-token', (response) => response.writeHead(403).end('no entry to secret-token'))
  const made = await webhook('/refusing/secret-token')
  const { json } = await service.call(`/v1/${made.name}:test`, { method: 'POST', as })
  assert.deepEqual([json.state, json.responseStatus, json.error], ['FAILED', 403, 'no entry to [secret]'])
})

test('a notice is sent, again after an error of the receiver with the same id, and a receiver that is gone is switched off', async () => {
  answers.set('/flaky', (response, count) => response.writeHead(count === 1 ? 500 : 200).end('busy'))
  answers.set('/gone', (response) => response.writeHead(410).end())
  const [flaky, gone] = [await webhook('/flaky'), await webhook('/gone')]
  await record()
  await until(() => at('/flaky').length === 2)
  const [first, second] = at('/flaky')
  assert.equal(first?.headers['webhook-id'], second?.headers['webhook-id'])
  const { type, data } = JSON.parse(second?.body ?? '')
  assert.equal(type, 'build.failed')
  assert.deepEqual([data.account, data.app, data.title], ['default', 'shop', 'The build of shop failed'])
  assert.equal(data.link, `${service.api}/accounts/default`)
  const [delivery] = await until(async () => {
    const all = await deliveriesOf(flaky)
    return all[0].state === 'DELIVERED' && all
  })
  assert.equal(delivery.attempts, 2)
  const { json: off } = await service.call(`/v1/${gone.name}`, { as })
  assert.deepEqual([off.enabled, off.disabledReason], [false, 'GONE'])
  for (const { name } of [flaky, gone]) await service.call(`/v1/${name}`, { method: 'DELETE', as })
})

test('what a control process was sending when it was killed is sent again, with the same id', async () => {
  const held: ServerResponse[] = []
  answers.set('/held', (response, count) =>
    count === 1 ? void held.push(response) : void response.writeHead(200).end(),
  )
  const made = await webhook('/held')
  await record()
  await until(() => held.length === 1)
  process.kill(service.controlPid(), 'SIGKILL')
  await until(() => at('/held').length === 2)
  const [first, second] = at('/held')
  assert.equal(first?.headers['webhook-id'], second?.headers['webhook-id'])
  const deliveries = await until(async () => {
    const answer = await service.call(`/v1/${made.name}/deliveries`, { as }).catch(() => undefined)
    return answer?.json?.deliveries?.[0]?.state === 'DELIVERED' && answer.json.deliveries
  })
  assert.deepEqual([deliveries.length, deliveries[0].attempts], [1, 2])
  await service.call(`/v1/${made.name}`, { method: 'DELETE', as })
})

test('an e-mail arrives over STARTTLS, as text that adds no header', { skip: NO_MAIL_SERVER }, async () => {
  const made = await make({ kind: 'EMAIL', addresses: ['team@example.org', 'refused@example.org'] })
  assert.equal(made.status, 200, made.text)
  await record({ title: 'The build failed\r\nBcc: other@example.org\r\n\r\nbody', text: 'line 1\n.\nline 2 ä' })
  const [message = ''] = await until(async () => {
    const all = (await mail?.messages()) ?? []
    return all.length > 0 && all
  })
  const [head = '', body = ''] = message.split('\n\n', 2)
  assert.match(head, /^Subject: \[Headland\] The build failed Bcc: other@example\.org body$/m)
  assert.match(head, /^To: team@example\.org, refused@example\.org$/m)
  assert.match(head, /with esmtps/)
  assert.match(head, /^Auto-Submitted: auto-generated$/m)
  assert.doesNotMatch(head, /^Bcc:/m)
  assert.match(body, /^The build failed Bcc/)
  const [delivery] = await until(async () => {
    const all = await deliveriesOf(made.json)
    return all[0]?.state === 'DELIVERED' && all
  })
  assert.match(delivery.error, /refused 1 of the addresses/)
  assert.match(head, new RegExp(`^Message-ID: <${delivery.name.split('/').at(-1)}@example\\.com>$`, 'm'))
  const only = await make({ kind: 'EMAIL', addresses: ['refused@example.org'] })
  const { json: refused } = await service.call(`/v1/${only.json.name}:test`, { method: 'POST', as })
  assert.equal(refused.state, 'FAILED')
  assert.match(refused.error, /550/)
})
