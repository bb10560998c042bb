/** Whatever a server answers, a call ends, and its memory is bounded. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Scope } from '../../../test/support/folder.ts'
import { TIMEOUT_MS } from '../../../test/support/until.ts'
import { EXIT } from '../../contract/index.ts'
import { logOfBuild } from '../output/log-lines.ts'
import { CallFailed, failureOf, helpAt } from './failures.ts'
import { createService } from './service.ts'

type Handle = (response: ServerResponse, request: IncomingMessage) => unknown

async function serviceWith(t: Scope, handle: Handle, timeout = {}) {
  let calls = 0
  const server = createServer((request, response) => {
    calls++
    handle(response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { service: createService(url, undefined, timeout), calls: () => calls }
}

const MIB = 1024 * 1024

/** Writes until the client stops reading; returns how much that was. */
function endless(piece: string | Buffer, status = 200) {
  const sent = { bytes: 0 }
  const handle = async (response: ServerResponse) => {
    response.writeHead(status)
    const closed = once(response, 'close')
    while (!response.destroyed) {
      sent.bytes += piece.length
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed])
    }
  }
  return { sent, handle }
}

const ACCOUNTS = 'GET /v1/accounts'
const BUILD = 'accounts/a/apps/b/environments/c/builds/d'

function isNoAnswer(expected: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof CallFailed)
    assert.match(error.message, expected)
    assert.deepEqual([error.status, error.reason, error.exitCode], [0, 'NO_ANSWER', EXIT.service])
    return true
  }
}

test('an answer without end is read as far as an answer goes, and no further', async (t) => {
  const { sent, handle } = endless(Buffer.alloc(MIB, '['))
  const { service } = await serviceWith(t, handle)
  await assert.rejects(service.client.call(ACCOUNTS), isNoAnswer(/its answer has more than \d+ bytes/))
  assert.ok(sent.bytes < 64 * MIB, `${sent.bytes} bytes were sent`)
})

test('an error without end is read as far as an error goes', async (t) => {
  const { sent, handle } = endless(Buffer.alloc(MIB, 'x'), 500)
  const { service } = await serviceWith(t, handle)
  await assert.rejects(service.client.ask(ACCOUNTS), isNoAnswer(/its answer has more than \d+ bytes/))
  assert.ok(sent.bytes < 32 * MIB, `${sent.bytes} bytes were sent`)
})

test('no answer is asked for in a packed form, and one that comes packed is not unpacked', async (t) => {
  let wanted: string | undefined
  const { service } = await serviceWith(t, (response, request) => {
    wanted = request.headers['accept-encoding']
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"accounts": []}'))
  })
  await assert.rejects(service.client.call(ACCOUNTS), isNoAnswer(/does not answer as a Headland does/))
  assert.equal(wanted, undefined)
})

test('an answer that comes a byte at a time is given up', async (t) => {
  const { service } = await serviceWith(
    t,
    (response) => {
      const timer = setInterval(() => response.write(' '), 10)
      response.on('close', () => clearInterval(timer))
    },
    { answerMs: 300 },
  )
  await assert.rejects(service.client.call(ACCOUNTS), isNoAnswer(/no answer within 0\.3 s/))
})

test('an answer that never begins is given up', async (t) => {
  const { service } = await serviceWith(t, () => undefined, { answerMs: 100 })
  await assert.rejects(service.client.ask(ACCOUNTS), isNoAnswer(/no answer within 0\.1 s/))
})

test('a list without end is given up, be its pages empty, full or always the same', async (t) => {
  for (const accounts of [[], ['a']]) {
    const { service, calls } = await serviceWith(t, (response) =>
      response.end(JSON.stringify({ accounts, nextPageToken: 'again' })),
    )
    await assert.rejects(
      Array.fromAsync(service.client.list(ACCOUNTS)),
      isNoAnswer(/The list of accounts at \S+ has no end/),
    )
    assert.ok(calls() <= 1000, `${calls()} calls`)
  }
})

test('a page with more than was asked for gives what was asked for', async (t) => {
  const accounts = Array.from({ length: 200_000 }, (_, index) => index)
  const { service, calls } = await serviceWith(t, (response) =>
    response.end(JSON.stringify({ accounts, nextPageToken: 'more' })),
  )
  const { items, hasMore } = await service.client.first(ACCOUNTS, { limit: 20 })
  assert.deepEqual([items.length, hasMore, calls()], [20, true, 1])
})

test('all of a list that has an end is read, however large its pages are', async (t) => {
  const accounts = Array.from({ length: 200_000 }, (_, index) => index)
  const { service } = await serviceWith(t, (response) => response.end(JSON.stringify({ accounts })))
  assert.equal((await Array.fromAsync(service.client.list(ACCOUNTS))).length, accounts.length)
})

test('a response that is not from a Headland is reported as such', async (t) => {
  const answers = ['null', '7', '"text"', '<html>', '{"accounts": "text"}', '{"accounts": [], "nextPageToken": {}}']
  for (const answer of answers) {
    const { service } = await serviceWith(t, (response) => response.end(answer))
    await assert.rejects(
      Array.fromAsync(service.client.list(ACCOUNTS)),
      isNoAnswer(/does not answer as a Headland does/),
      answer,
    )
  }
})

test('an error of any shape is an error, and its message has an end', async (t) => {
  const errors: unknown[] = [
    null,
    [],
    { error: null },
    { error: { message: {}, details: 'x' } },
    { error: { message: 'm'.repeat(100_000), details: [null, { reason: 7 }, { reason: 'constructor' }] } },
  ]
  for (const error of errors) {
    const { service } = await serviceWith(t, (response) => response.writeHead(400).end(JSON.stringify(error)))
    await assert.rejects(service.client.call(ACCOUNTS), (failed) => {
      assert.ok(failed instanceof CallFailed)
      assert.deepEqual([failed.status, failed.exitCode, failed.todo], [400, EXIT.caller, undefined])
      return failed.message.length < 5000
    })
  }
})

async function countOf(lines: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of lines) count++
  return count
}

const LINE = '1 2026-01-01T00:00:00.000Z BUILDING stdout again\n'
const HOSTILE_LOGS = { 'one line': 'x', 'lines of something else': 'x\n', 'the same line': LINE }

for (const [name, text] of Object.entries(HOSTILE_LOGS)) {
  test(`a log that is ${name} without end is given up`, async (t) => {
    const { sent, handle } = endless(text.repeat(MIB / text.length))
    const { service } = await serviceWith(t, handle)
    await assert.rejects(countOf(logOfBuild(service, BUILD).read(1)), isNoAnswer(/is not a log of a Headland/))
    assert.ok(sent.bytes < 32 * MIB, `${sent.bytes} bytes were sent`)
  })
}

const HOSTILE_EVENTS: Record<string, string> = {
  'one event': 'data: x\n',
  'one line': 'x',
  'lines that are none': 'event: line\ndata: {"number": 1, "text": {}}\n\n',
  'times that no calendar has': `event: line\ndata: ${JSON.stringify({ number: 1, time: 1e300, stream: 'stdout', phase: '', text: '' })}\n\n`,
}

for (const [name, text] of Object.entries(HOSTILE_EVENTS)) {
  test(`a stream of ${name} without end is given up, and not asked for again`, async (t) => {
    const { handle } = endless(text.repeat(Math.ceil(MIB / text.length)))
    const { service, calls } = await serviceWith(t, handle)
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const lines = logOfBuild(service, BUILD).follow({ signal, onConnection: () => undefined })
    await assert.rejects(countOf(lines), isNoAnswer(/is not a log of a Headland/))
    assert.equal(calls(), 1)
  })
}

test('the first ones of a list that comes one by one are not asked for without end', async (t) => {
  const one = JSON.stringify({ accounts: [{}], nextPageToken: 'more' })
  const { service, calls } = await serviceWith(t, (response) => response.end(one))
  const { items, hasMore } = await service.client.first(ACCOUNTS, { limit: 1000 })
  assert.deepEqual([items.length, hasMore, calls()], [25, true, 25])
})

test('a failure that the error reference knows leads to its page, at the service that answered', () => {
  const body = JSON.stringify({ error: { message: 'x', details: [{ reason: 'APP_NOT_FOUND' }] } })
  const at = { url: 'https://h.test', status: 404, headers: new Headers() }
  const known = failureOf({ ...at, text: body })
  assert.equal(known.help, 'https://h.test/docs/reference/errors#APP_NOT_FOUND')
  const odd = JSON.stringify({ error: { message: 'x', details: [{ reason: '../../evil' }] } })
  assert.equal(failureOf({ ...at, text: odd }).help, undefined)
  assert.equal(
    helpAt('https://h.test', '/docs/troubleshooting/type-error'),
    'https://h.test/docs/troubleshooting/type-error',
  )
  assert.equal(helpAt('https://h.test', 'docs/troubleshooting/type-error.md'), 'docs/troubleshooting/type-error.md')
})
