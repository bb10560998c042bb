/**
 * Programs that call webhooks, each with the bytes that it sends, over a socket. They were written for other hosts and
 * cannot be changed, so all of them must keep working. All calls of this file join one build, which starts at its end.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { LIMITS } from '../../../src/contract/index.ts'
import { openRaw, type RawAnswer, sendRaw } from '../../support/edge/raw.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { callersOf, ENTRY, JSON_TYPE, lengthOf } from '../../support/service/webhook-callers.ts'
import { createWebhooks, targetOf, tokenOf, triggersOf } from '../../support/service/webhooks.ts'
import { until } from '../../support/until.ts'

const service = await startService({ after })
const as = await service.login()
const { name: environment } = await createEnvironment(service, as)
await deploy(service, as, environment, page('the site'))
const urls = await createWebhooks(service, as, environment, { quietSeconds: 300, maxQuietSeconds: 3600 })

const { rebuild: url } = urls
const target = targetOf(url)
const token = tokenOf(url)
const { host } = new URL(service.api)
let calls = 0

/** Checks the status and JSON as the strictest caller requires, the operation, and the entry of the ledger. */
async function assertTaken(answer: RawAnswer, userAgent = '') {
  assert.equal(answer.status, 200, `${answer.head}\n${answer.body}`)
  assert.match(answer.header('content-type') ?? '', /^application\/json/)
  assert.equal(answer.header('location'), undefined)
  const operation = JSON.parse(answer.body)
  assert.ok(operation.name.startsWith(`${environment}/operations/`))
  assert.deepEqual([operation.done, operation.metadata.phase], [false, 'QUEUED'])
  const [entry] = await triggersOf(service, as, environment, '?pageSize=1')
  assert.deepEqual(
    { operation: entry?.operation, source: entry?.source, answer: entry?.answer, userAgent: entry?.userAgent },
    { operation: operation.name, source: 'WEBHOOK', answer: 200, userAgent },
  )
  await assertCounted(1)
}

/**
 * The ledger has exactly so many more entries than before. The entry of a caller that did not wait may come a little
 * later.
 */
async function assertCounted(more: number) {
  calls += more
  const count = async () => (await triggersOf(service, as, environment)).length
  await until(async () => (await count()) >= calls, `there are ${calls} entries`)
  assert.equal(await count(), calls)
}

/** Sends, and disconnects. */
function hangUpAfter(bytes: string) {
  const { hostname, port } = new URL(service.api)
  connect(Number(port), hostname).end(bytes)
}

const { callers, byWordpress, fromBrowser } = callersOf(url, host)

for (const { caller, userAgent, request } of callers) {
  test(`is taken: ${caller}`, async () => assertTaken(await sendRaw(service.api, request), userAgent))
}

test('JAMstack Deployments and WPGatsby keep the URLs as they are in their settings', () => {
  for (const each of Object.values(urls)) {
    // sanitize_text_field of WordPress: tags, escapes, line breaks and doubled blanks go.
    const kept = each
      .replaceAll(/<[^>]*>|%[a-f0-9]{2}/gi, '')
      .replaceAll(/[\r\n\t ]+/g, ' ')
      .trim()
    assert.equal(kept, each)
    assert.deepEqual(each.split(','), [each])
  }
})

test('JAMstack Deployments calls ten times in a tenth of a second for a bulk edit, and is taken each time', async () => {
  const request = byWordpress(['Content-Type: application/x-www-form-urlencoded'])
  const answers = await Promise.all(Array.from({ length: 10 }, () => sendRaw(service.api, request)))
  const operations = new Set(answers.map(({ status, body }) => `${status} ${JSON.parse(body).name}`))
  assert.equal(operations.size, 1)
  assert.match([...operations].join(), /^200 /)
  await assertCounted(10)
})

test('a call of a plugin that does not wait for its response is accepted all the same', async () => {
  hangUpAfter(byWordpress(['Content-Type: application/x-www-form-urlencoded']))
  await assertCounted(1)
})

test('Deploy Webhook Button calls from a browser, and may read the answer from any page', async () => {
  const answer = await sendRaw(service.api, fromBrowser())
  assert.equal(answer.header('access-control-allow-origin'), '*')
  await assertTaken(answer, 'Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0')
})

test('Vercel Deploy Hooks shows id, state and time of a job', async () => {
  const answer = await sendRaw(service.api, fromBrowser())
  const { job, name, metadata } = JSON.parse(answer.body)
  assert.equal(`${environment}/operations/${job.id}`, name)
  assert.equal(job.state, 'PENDING')
  assert.equal(new Date(job.createdAt).toISOString(), metadata.createTime)
  await assertTaken(answer, 'Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0')
})

test('a CORS preflight is allowed, whatever headers it asks for', async () => {
  const asked = ['Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: content-type,x-mine']
  const answer = await sendRaw(service.api, fromBrowser(asked).replace(/^POST/, 'OPTIONS'))
  assert.ok(answer.status === 204 || answer.status === 200)
  assert.equal(answer.header('access-control-allow-origin'), '*')
  assert.match(answer.header('access-control-allow-methods') ?? '', /\bPOST\b/)
  assert.equal(answer.header('access-control-allow-headers'), '*')
  assert.equal(answer.header('content-type'), undefined)
  await assertCounted(0)
})

test('a page of another origin may read a refusal too', async () => {
  const refused = await sendRaw(service.api, fromBrowser().replace(token, 'wrong'))
  assert.deepEqual([refused.status, refused.header('access-control-allow-origin')], [401, '*'])
  assert.doesNotMatch(refused.header('www-authenticate') ?? '', /Basic|Digest|Negotiate/)
  await assertCounted(0)
})

const curl = async (...args: string[]) => {
  const { stdout } = await promisify(execFile)('curl', [
    '-sS',
    '--max-time',
    '20',
    '-w',
    '\n%{http_code} %{num_redirects}',
    ...args,
  ])
  const [, body = '', status, redirects] = /^(.*)\n(\d+) (\d+)$/s.exec(stdout) ?? []
  return { operation: JSON.parse(body).name, status, redirects }
}

test('the curl calls of the recipes are accepted: -d {}, no body, HTTP/1.0, an offer of HTTP/2, and a large file with Expect: 100-continue', async (t) => {
  const file = join(await temporaryFolder(t), 'large')
  await writeFile(file, Buffer.alloc(2 * 1024 * 1024, 'x'))
  const forms = [
    ['-d', '{}'],
    [],
    ['-L'],
    ['--http1.0', '-d', '{}'],
    ['--http2', '-d', '{}'],
    ['--data-binary', `@${file}`],
    ['-T', file],
  ]
  for (const form of forms) {
    const { operation, status, redirects } = await curl('-X', 'POST', ...form, url)
    assert.deepEqual([status, redirects], ['200', '0'], form.join(' '))
    const [entry] = await triggersOf(service, as, environment, '?pageSize=1')
    assert.equal(entry?.operation, operation)
    assert.match(entry?.userAgent ?? '', /^curl\//)
  }
  await assertCounted(forms.length)
})

test('a caller with Expect: 100-continue gets 100, and a response whether or not the body comes', async () => {
  const connection = openRaw(service.api)
  connection.send(`POST ${target} HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`)
  await assertTaken(await connection.answer())
  assert.equal(connection.interim(), 1)
  connection.send('12345')
  connection.send(`POST ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`)
  await assertTaken(await connection.answer())
  connection.end()
})

test('a body that never comes does not delay the response, also if the connection will be closed', async () => {
  for (const more of ['', 'Connection: close\r\n']) {
    const body = `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}Content-Length: 1000\r\n\r\n`
    await assertTaken(await sendRaw(service.api, body))
    await assertTaken(await sendRaw(service.api, body.replace('Content-Length: 1000', 'Transfer-Encoding: chunked')))
  }
})

test('a body that breaks off was answered, and a caller who hangs up in the middle of it is in the ledger', async () => {
  const kept = openRaw(service.api)
  const half = `POST ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000\r\n\r\nhalf of`
  kept.send(half)
  await assertTaken(await kept.answer())
  kept.end()
  hangUpAfter(half)
  await assertCounted(1)
})

for (const [line, more] of [
  ['HTTP/1.0', ''],
  ['HTTP/1.1', 'Connection: close\r\n'],
] as const) {
  test(`${line} whose connection is closed after the answer is not reset while it still sends`, async () => {
    const connection = openRaw(service.api)
    let fault: unknown
    connection.socket.on('error', (error) => {
      fault = error
    })
    connection.send(`POST ${target} ${line}\r\nHost: ${host}\r\n${more}Content-Length: 400000\r\n\r\n`)
    await assertTaken(await connection.answer())
    for (let piece = 0; piece < 4; piece++) {
      assert.equal(connection.isClosed(), false)
      await new Promise((resolve) => connection.socket.write(Buffer.alloc(100_000), resolve))
    }
    await connection.closed()
    assert.equal(fault, undefined)
  })
}

test('a large body is read to its end and thrown away, and the connection serves the next call', async () => {
  const connection = openRaw(service.api)
  const body = `{"posts":"${'x'.repeat(5 * 1024 * 1024)}"}`
  connection.send(`POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${JSON_TYPE}\r\n${lengthOf(body)}\r\n\r\n${body}`)
  await assertTaken(await connection.answer())
  connection.send(`POST ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  await assertTaken(await connection.answer())
  connection.end()
})

test('a body over the limit is answered, and then the connection is closed', async () => {
  const connection = openRaw(service.api)
  connection.send(`POST ${target} HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`)
  await assertTaken(await connection.answer())
  const piece = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(0x100000), Buffer.from('\r\n')])
  let sent = 0
  for (; !connection.isClosed() && sent < 4 * LIMITS.webhookBodyBytes; sent += 0x100000) {
    await new Promise((resolve) => connection.socket.write(piece, resolve))
  }
  await connection.closed()
  assert.ok(sent >= LIMITS.webhookBodyBytes, `${sent} bytes were taken`)
})

test('two calls with bodies on one connection, and ten that do not wait for each other, are all taken', async () => {
  const connection = openRaw(service.api)
  const one = `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${JSON_TYPE}\r\n${lengthOf(ENTRY)}\r\n\r\n${ENTRY}`
  for (let call = 0; call < 2; call++) {
    connection.send(Buffer.from(one))
    await assertTaken(await connection.answer())
  }
  connection.send(Buffer.from(one.repeat(10)))
  for (let call = 0; call < 10; call++) assert.equal((await connection.answer()).status, 200)
  await assertCounted(10)
  connection.end()
})

for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
  test(`${method} gets a readable hint to use POST, without the token`, async () => {
    const answer = await sendRaw(service.api, `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, {
      head: method === 'HEAD',
    })
    assert.deepEqual([answer.status, answer.header('allow')], [405, 'POST, OPTIONS'])
    assert.equal(answer.header('access-control-allow-origin'), '*')
    if (method !== 'HEAD') assert.match(JSON.parse(answer.body).error.message, /called with POST/)
    assert.ok(!answer.head.includes(token) && !answer.body.includes(token))
    await assertCounted(0)
  })
}

test('nothing is ever answered with a redirect', async () => {
  const lines = [
    `POST /${target}`,
    `POST ${target.replace('/wh/', '//wh//')}`,
    `POST ${target.replace('/wh/', '/wh')}`,
    `POST ${target.replace('/webhooks/', '/webhooks//')}`,
    `POST ${target.replace('/v1/', '/v1/../v1/')}`,
    `POST ${target.replace('/wh/', '/WH/')}`,
    `POST ${target.replace(/\/webhook:.*/, '')}`,
    'POST /wh',
    'POST /wh/',
    `GET ${target}`,
    `POST https://${host}${target}x`,
  ]
  for (const line of lines) {
    for (const more of ['', 'X-Forwarded-Proto: http\r\n', 'X-Forwarded-Host: elsewhere.example\r\n']) {
      const answer = await sendRaw(service.api, `${line} HTTP/1.1\r\nHost: elsewhere.example\r\n${more}\r\n`)
      assert.ok(answer.status >= 400 && answer.status < 500, `${line} was answered with ${answer.status}`)
      assert.equal(answer.header('location'), undefined)
      assert.ok(!answer.body.includes(token))
    }
  }
  await assertCounted(0)
})

test('https where there is only http is not answered with a page', async () => {
  const connection = openRaw(service.api)
  connection.send(Buffer.from('16030100650100006103035ec0ffee', 'hex'))
  await connection.closed()
  await assertCounted(0)
})

test('and one build satisfies them all', async () => {
  const [{ operation: waiting } = { operation: '' }] = await triggersOf(service, as, environment, '?pageSize=1')
  const asked = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal(asked.json.name, waiting)
  const done = await untilDone(service, as, waiting)
  assert.equal(done.error, undefined)
  const { json } = await service.call(`/v1/${waiting}`, { as })
  assert.equal(json.metadata.triggerCount, calls + 1)
  const { json: listed } = await service.call(`/v1/${environment}/builds`, { as })
  assert.equal(listed.builds.length, 2)
})
