/**
 * Webhooks under attack: guesses that reveal nothing, floods, replays, tokens that must not leak, and request
 * smuggling.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openRaw, type RawAnswer, sendRaw } from '../../support/edge/raw.ts'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createApp, createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import {
  createWebhooks,
  hook,
  targetOf,
  tokenOf,
  triggersOf,
  urlsOf,
  type WebhookUrls,
} from '../../support/service/webhooks.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

const LONG = { quietSeconds: 300, maxQuietSeconds: 3600 }

const service = await startService(
  { after },
  { settings: { HEADLAND_WEBHOOK_GUESSES: '100000', HEADLAND_LOG_LEVEL: 'trace' } },
)
const as = await service.login()
const { host } = new URL(service.api)

/** Every token that the service ever returned. */
const tokens = new Set<string>()

function known(urls: WebhookUrls): WebhookUrls {
  for (const url of Object.values(urls)) tokens.add(tokenOf(url))
  return urls
}

async function site(app?: string) {
  const { name } = await createEnvironment(service, as, app === undefined ? {} : { app })
  await deploy(service, as, name, page('the site'))
  return { name, urls: known(await createWebhooks(service, as, name, LONG)) }
}

const call = (target: string, more = '', body = ''): Promise<RawAnswer> =>
  sendRaw(
    service.api,
    `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`,
  )

/** A response without the parts that always differ. */
const comparable = ({ head, body }: RawAnswer): string =>
  `${head.replace(/^(date|x-request-id): .*$/gim, '$1')}\n${body}`

const removeEnvironment = async (name: string) => {
  const { json } = await service.call(`/v1/${name}`, { method: 'DELETE', as })
  return untilDone(service, as, json.name)
}

test('whatever is wrong with a call, its response is the same, byte for byte', async () => {
  const [{ name, urls }, other, empty, revoked, gone] = [
    await site(),
    await site(),
    await createEnvironment(service, as),
    await site(),
    await site(),
  ]
  await service.call(`/v1/${revoked.name}/webhooks`, { method: 'DELETE', as })
  await removeEnvironment(gone.name)
  const target = targetOf(urls.rebuild)
  const [id = '', token] = [name.split('/').at(-1), tokenOf(urls.rebuild)]
  const withToken = (text: string) => target.replace(token, text)
  const wrong = 'A'.repeat(token.length)
  const bare = target.replace(/\?.*/, '')

  const targets: Record<string, string> = {
    'an unknown account': target.replace('/accounts/default', '/accounts/does-not-exist'),
    'a name that no account can have': target.replace('/accounts/default', '/accounts/%F0%9F%92%A9'),
    'an unknown app': target.replace(/\/apps\/[^/]+/, '/apps/does-not-exist'),
    'an unknown environment': target.replace(id, '0199e7c0-0000-7000-8000-000000000000'),
    'what is no id': target.replace(id, "x'%20OR%201=1--"),
    'an environment with NUL': target.replace(id, `${id}%00`),
    'an unknown action': target.replace('webhook:rebuild', 'webhook:publish'),
    'an action in capitals': target.replace('webhook:rebuild', 'webhook:REBUILD'),
    'an action that objects have': target.replace('webhook:rebuild', 'webhook:__proto__'),
    'an environment without webhooks': target.replace(name, empty.name),
    'webhooks that were deleted': targetOf(revoked.urls.rebuild),
    'an environment that was deleted': targetOf(gone.urls.rebuild),
    'the token of another action': withToken(tokenOf(urls.purgeCache)),
    'the token of another environment': withToken(tokenOf(other.urls.rebuild)),
    'this token for another environment': targetOf(other.urls.rebuild).replace(tokenOf(other.urls.rebuild), token),
    'no query': bare,
    'an empty token': withToken(''),
    'an empty token for what is not there': withToken('').replace(id, '0199e7c0-0000-7000-8000-000000000000'),
    'an empty token for an unknown action': withToken('').replace('webhook:rebuild', 'webhook:publish'),
    'half of a token': withToken(token.slice(0, 20)),
    'a token and more': withToken(`${token}A`),
    'a token in other capitals': withToken(token.toLowerCase() === token ? token.toUpperCase() : token.toLowerCase()),
    'a token after a wrong one': withToken(`${wrong}&token=${token}`),
    'a list of tokens': target.replace('?token=', '?token[]='),
    'a parameter in capitals': target.replace('?token=', '?Token='),
    'a token of 10,000 letters': withToken('A'.repeat(10_000)),
    'a token with NUL before it': withToken(`%00${token}`),
    'a token that is not ASCII': withToken('%C3%A9%F0%9F%92%A9'),
    'a token in escapes': withToken([...token].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join('')),
    'a digest': withToken('47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'),
  }
  const expected = await call(withToken(wrong))
  assert.equal(expected.status, 401)
  for (const [what, guess] of Object.entries(targets)) {
    assert.equal(comparable(await call(guess)), comparable(expected), what)
  }
  const elsewhere: Record<string, [string, string?]> = {
    'a token in a header': [`Authorization: Bearer ${token}\r\nToken: ${token}\r\nX-Webhook-Token: ${token}\r\n`],
    'a token as a password': [`Authorization: Basic ${btoa(`token:${token}`)}\r\n`],
    'a token in a cookie': [`Cookie: token=${token}\r\n`],
    'a token in a form': ['Content-Type: application/x-www-form-urlencoded\r\n', `token=${token}`],
    'a token in JSON': ['Content-Type: application/json\r\n', JSON.stringify({ token })],
  }
  for (const [what, [headers, body]] of Object.entries(elsewhere)) {
    assert.equal(comparable(await call(bare, headers, body)), comparable(expected), what)
  }
  for (const { name: each } of [{ name }, other]) assert.deepEqual(await triggersOf(service, as, each), [])
  assert.equal((await call(target)).status, 200)
})

test('another account gets the same response', async () => {
  await service.operator('accounts', 'create', 'neighbour')
  const theirs = await service.login('owner', 'neighbour')
  const { name } = await createEnvironment(service, theirs, { account: 'neighbour' })
  const urls = known(await createWebhooks(service, theirs, name))
  const ours = await site()
  const crossed = targetOf(urls.rebuild).replace(tokenOf(urls.rebuild), tokenOf(ours.urls.rebuild))
  const renamed = targetOf(urls.rebuild).replace('/accounts/neighbour', '/accounts/default')
  const absent = targetOf(urls.rebuild).replace('/accounts/neighbour', '/accounts/does-not-exist')
  const answers = await Promise.all([crossed, renamed, absent].map((target) => call(target)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([401]))
  assert.equal(new Set(answers.map(comparable)).size, 1)
})

test('no call can be replayed: not after a regeneration, a deletion, nor when an app of the same name is created', async () => {
  const app = await createApp(service, as, { app: 'replayed' })
  const first = await site(app)
  const again = await service.call(`/v1/${first.name}/webhooks:regenerate`, { method: 'POST', as })
  const second = known(urlsOf(again.json))
  assert.equal((await hook(service, second.rebuild)).status, 200)
  await service.call(`/v1/${first.name}/webhooks`, { method: 'DELETE', as })
  const third = known(await createWebhooks(service, as, first.name, LONG))
  assert.equal((await hook(service, third.purgeCache)).status, 200)
  const removed = await service.call(`/v1/accounts/default/apps/${app}?force=true`, { method: 'DELETE', as })
  assert.equal(removed.status, 200, removed.text)
  const atOnce = await Promise.all(Object.values(third).map((url) => hook(service, url)))
  assert.deepEqual(new Set(atOnce.map(({ status }) => status)), new Set([401]))

  await createApp(service, as, { app })
  const namesake = await site(app)
  const id = (name: string) => name.split('/').at(-1) ?? ''
  for (const urls of [first.urls, second, third]) {
    for (const url of Object.values(urls)) {
      assert.equal((await hook(service, url)).status, 401)
      assert.equal((await hook(service, url.replace(id(first.name), id(namesake.name)))).status, 401)
    }
  }
  assert.deepEqual(await triggersOf(service, as, namesake.name), [])
})

const TWO_REQUESTS = (target: string, hidden: string): Record<string, string> => {
  const start = `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n`
  const { length } = hidden
  return {
    'two lengths': `${start}Content-Length: 0\r\nContent-Length: ${length}\r\n\r\n${hidden}`,
    'two lengths in one line': `${start}Content-Length: 0, ${length}\r\n\r\n${hidden}`,
    'a length and chunks': `${start}Content-Length: ${length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'chunks and a length': `${start}Transfer-Encoding: chunked\r\nContent-Length: ${length + 5}\r\n\r\n0\r\n\r\n${hidden}`,
    'chunks that are not last': `${start}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
    'chunks by another name': `${start}Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n${hidden}`,
    'a blank before the colon': `${start}Transfer-Encoding : chunked\r\nContent-Length: ${length}\r\n\r\n0\r\n\r\n${hidden}`,
    'a length with a sign': `${start}Content-Length: +${length}\r\n\r\n${hidden}`,
    'a length in sixteens': `${start}Content-Length: 0x10\r\n\r\n${hidden}`,
    'a folded line': `${start}X: y\r\n Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'a bare LF between headers': `POST ${target} HTTP/1.1\nHost: ${host}\nContent-Length: 0\n\n${hidden}`,
    'a bare LF within a header': `${start}X: y\nTransfer-Encoding: chunked\r\nContent-Length: ${length}\r\n\r\n${hidden}`,
    'a bare CR within a header': `${start}X: y\rContent-Length: 0\r\n\r\n${hidden}`,
    'a chunk whose size is not one': `${start}Transfer-Encoding: chunked\r\n\r\n-1\r\n${hidden}`,
    'a chunk with a bare LF': `${start}Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n${hidden}`,
  }
}

test('a request that can be read as two is refused, and the hidden one is never executed', async () => {
  const { name, urls } = await site()
  const hidden = `POST ${targetOf(urls.purgeCache)} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`
  for (const [what, bytes] of Object.entries(TWO_REQUESTS(targetOf(urls.rebuild), hidden))) {
    const connection = openRaw(service.api)
    connection.send(bytes)
    // Whatever the first response is: no second one follows, and the connection is closed.
    const { status } = await connection.answer()
    await connection.closed()
    assert.ok(status === 400 || status === 200, `${what} was answered with ${status}`)
    const taken = (await triggersOf(service, as, name)).map(({ action }) => action)
    assert.ok(!taken.includes('PURGE_CACHE'), what)
  }
})

test('callers that flood are refused with a time to retry; callers with a valid token are not affected', async (t) => {
  // Each of these may happen once a minute.
  const limits = { HEADLAND_WEBHOOK_GUESSES: '1', HEADLAND_WEBHOOK_CALLS: '1' }
  const own = await startService(t, { settings: { ...limits, HEADLAND_TRUSTED_PROXIES: '127.0.0.1' } })
  const login = await own.login()
  const { name } = await createEnvironment(own, login)
  await deploy(own, login, name, page('the site'))
  const urls = await createWebhooks(own, login, name, LONG)
  const guess = targetOf(urls.rebuild).replace(tokenOf(urls.rebuild), 'wrong')
  const { hostname, port } = new URL(own.api)

  /** From an address of this machine, through a proxy that forwards the address. */
  const from = (address: string, target: string, forwardedFor?: string): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), localAddress: address, timeout: TIMEOUT_MS })
      const forwarded = forwardedFor === undefined ? '' : `X-Forwarded-For: ${forwardedFor}\r\n`
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('end', () => resolve({ status: Number(text.split(' ')[1]), text }))
      socket.on('timeout', () => reject(new Error('no answer')))
      socket.on('error', reject)
      socket.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${forwarded}\r\n`)
    })

  await t.test('a guess too many, also for another environment, and whatever a header says', async () => {
    assert.equal((await from('127.0.0.2', guess)).status, 401)
    const tooMany = await from('127.0.0.2', guess.replace(/environments\/[^/]+/, 'environments/x'))
    assert.equal(tooMany.status, 429)
    assert.match(tooMany.text, /^retry-after: [1-9]\d?\r$/im)
    assert.match(tooMany.text, /TOO_MANY_GUESSES/)
    for (const spoofed of ['203.0.113.9', '127.0.0.1', '::1', 'x', '203.0.113.9, 203.0.113.10']) {
      assert.equal((await from('127.0.0.2', guess, spoofed)).status, 429, spoofed)
    }
    assert.equal((await from('127.0.0.3', guess)).status, 401)
  })

  await t.test('behind a trusted proxy each caller has its own, by the address that the proxy saw', async () => {
    assert.equal((await from('127.0.0.1', guess, '203.0.113.1')).status, 401)
    assert.equal((await from('127.0.0.1', guess, '203.0.113.1')).status, 429)
    assert.equal((await from('127.0.0.1', guess, '203.0.113.2')).status, 401)
    // The part that a caller put into the header is left of the proxy's own.
    assert.equal((await from('127.0.0.1', guess, '203.0.113.77, 203.0.113.1')).status, 429)
    assert.equal((await from('127.0.0.1', guess, '2001:db8:1:2::1')).status, 401)
    assert.equal((await from('127.0.0.1', guess, '2001:db8:1:2:ffff::99')).status, 429)
    assert.equal((await from('127.0.0.1', guess, '2001:db8:1:3::1')).status, 401)
  })

  await t.test('the right token from the same address is accepted, and recorded with that address', async () => {
    assert.equal((await from('127.0.0.1', targetOf(urls.rebuild), '203.0.113.1')).status, 200)
    assert.equal((await triggersOf(own, login, name))[0]?.address, '203.0.113.1')
  })

  await t.test(
    'a call above the limit is refused and recorded once; purges do not count towards the limit of builds',
    async () => {
      // The call of this minute was used above.
      for (let times = 0; times < 3; times++) {
        const tooMany = await from('127.0.0.2', targetOf(urls.cleanRebuild))
        assert.equal(tooMany.status, 429)
        assert.match(tooMany.text, /^retry-after: [1-9]\d?\r$/im)
        assert.match(tooMany.text, /TOO_MANY_TRIGGERS/)
      }
      const purges = [
        await from('127.0.0.2', targetOf(urls.purgeCache)),
        await from('127.0.0.2', targetOf(urls.purgeCache)),
      ]
      assert.deepEqual(
        purges.map(({ status }) => status),
        [200, 429],
      )
      const entries = await triggersOf(own, login, name)
      assert.deepEqual(
        entries.map(({ action, answer, reason }) => [action, answer, reason]),
        [
          ['PURGE_CACHE', 429, 'TOO_MANY_TRIGGERS'],
          ['PURGE_CACHE', 200, undefined],
          ['CLEAN_REBUILD', 429, 'TOO_MANY_TRIGGERS'],
          ['REBUILD', 200, undefined],
        ],
      )
    },
  )
})

test('no token is ever in a log, an answer, the metrics, the ledger, a file or a list of processes', async () => {
  const { name, urls } = await site()
  const texts: string[] = []
  async function say(bytes: string) {
    const connection = openRaw(service.api)
    connection.send(bytes)
    const { head, body } = await connection.answer({ head: bytes.startsWith('HEAD') })
    texts.push(head, body)
    connection.end()
  }
  for (const [action, url] of Object.entries(urls)) {
    const [target, token] = [targetOf(url), tokenOf(url)]
    const close = `Host: ${host}\r\n`
    const lines = [
      `POST ${target} HTTP/1.1\r\n${close}Referer: ${url}\r\nUser-Agent: caller (${url}) ${token}\r\n`,
      `POST ${target} HTTP/1.1\r\n${close}User-Agent: ${'x'.repeat(190)}${token}\r\n`,
      ...Object.values(urls).map((other) => `POST ${target} HTTP/1.1\r\n${close}User-Agent: ${other}\r\n`),
      ...['GET', 'HEAD', 'PUT', 'PROPFIND', 'OPTIONS'].map((method) => `${method} ${target} HTTP/1.1\r\n${close}`),
      ...[
        '%3Ftoken=',
        '%3ftoken%3d',
        '%253Ftoken%253D',
        '&token=',
        ';token=',
        '/token=',
        '/',
        '%20',
        '%zz?token=',
        '%00',
      ].map((instead) => `POST ${target.replace('?token=', instead)} HTTP/1.1\r\n${close}`),
      `POST /${target} HTTP/1.1\r\n${close}`,
      `POST /prefix${target.replace('?', '&')} HTTP/1.1\r\n${close}`,
      `POST ${target.replace('webhook:', 'webhook%253A').replace('?', '%253F')} HTTP/1.1\r\n${close}`,
      `POST /v1${target.slice(6).replace(`/webhook:${action}`, '')} HTTP/1.1\r\n${close}`,
      `GET /v1/${name}/triggers?token=${token} HTTP/1.1\r\n${close}Authorization: Basic ${btoa(`${as.userId}:${as.password}`)}\r\n`,
      `POST ${target} HTTP/1.1\r\n${close}X: ${'x'.repeat(20_000)}\r\n`,
      `POST ${target} HTTP/1.7\r\n${close}`,
      `POST ${target} HTTP/1.1\r\n${close}${close}Content-Length: -1\r\n`,
    ]
    for (const line of lines) await say(`${line}${line.includes('Content-Length') ? '' : 'Content-Length: 0\r\n'}\r\n`)
  }
  texts.push(JSON.stringify(await triggersOf(service, as, name)))
  texts.push((await service.call('/metrics', { as })).text)
  texts.push((await service.call(`/v1/${name}/operations`, { as })).text)
  // The log is written a little later than the answer.
  await service.call('/the-last-line-of-the-log')
  await until(() => service.log().includes('/the-last-line-of-the-log'))
  texts.push(service.log())

  const processes = readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && pid !== String(process.pid))
    .flatMap((pid) => ['cmdline', 'environ'].map((file) => readProcess(`/proc/${pid}/${file}`)))
  assert.ok(processes.length > 0)
  assert.ok(tokens.size >= 18)
  const places = [...texts, ...processes]
  for (const token of tokens) {
    // Not even half of a token may be found.
    const half = token.slice(0, 20)
    assert.equal(
      places.find((text) => text.includes(half)),
      undefined,
    )
  }
  const files = await filesBelow(service.dataDir)
  assert.ok(files.length > 3)
  for (const file of files) {
    const bytes = await readFile(file).catch(() => Buffer.alloc(0))
    for (const token of tokens) assert.ok(!bytes.includes(token.slice(0, 20)), `${file} holds a token`)
  }
})

const filesBelow = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile() && entry.name !== 'ballast')
    .map((entry) => join(entry.parentPath, entry.name))

/** Processes may end between listing and reading. */
function readProcess(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
