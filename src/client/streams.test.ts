import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Scope } from '../../test/support/folder.ts'
import { TIMEOUT_MS } from '../../test/support/until.ts'
import { type Client, createClient } from './client.ts'
import { createEventParser } from './event-parser.ts'
import { type LogLine, lineIn } from './log-lines.ts'
import { ENVIRONMENT } from './route-types.ts'
import { type Ask, type FollowOptions, followEvents, lastNumber, readLines } from './streams.ts'

const path = { account: 'a', app: 'b', environment: 'c' }
const ADDRESS = '/v1/accounts/a/apps/b/environments/c/logs'
const TIMEOUTS = { pauseMs: 5, maxPauseMs: 20 }

const lineOf = (number: number): LogLine => ({
  number,
  time: 0,
  stream: 'stdout',
  phase: 'BUILDING',
  text: `line ${number}`,
})
const eventOf = (number: number): string => `id: ${number}\nevent: line\ndata: ${JSON.stringify(lineOf(number))}\n\n`
const END = 'event: end\ndata: {}\n\n'

type Handle = (after: number, response: ServerResponse, request: IncomingMessage, attempt: number) => unknown

async function listen(t: Scope, handle: Handle, port = 0) {
  let attempts = 0
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/event-stream')
    handle(Number(request.headers['last-event-id'] ?? 0), response, request, ++attempts)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  t.after(close)
  const at = (server.address() as AddressInfo).port
  const ask = asking(createClient({ url: `http://127.0.0.1:${at}` }))
  return { ask, port: at, close, attempts: () => attempts }
}

const asking =
  (client: Client): Ask =>
  (options) =>
    client.ask(`GET ${ENVIRONMENT}/logs`, { ...options, path })

const followLog = (ask: Ask, options: FollowOptions) => followEvents(ask, { event: 'line', read: lineIn }, options)

async function numbersOf(lines: AsyncIterable<LogLine>): Promise<number[]> {
  const numbers: number[] = []
  for await (const { number } of lines) numbers.push(number)
  return numbers
}

const upTo = (max: number): number[] => Array.from({ length: max }, (_, index) => index + 1)
const bounded = () => AbortSignal.timeout(TIMEOUT_MS)

test('a stream that breaks anywhere goes on after the last line: none twice, none lost', async (t) => {
  const { ask, attempts } = await listen(t, async (after, response, _, attempt) => {
    response.write(': open\n\n')
    if (attempt % 4 === 0) return response.destroy()
    // Some resume a little before where they should; and some break in the middle of an event.
    const from = attempt % 3 === 0 ? Math.max(0, after - 2) : after
    for (const number of upTo(20)
      .filter((one) => one > from)
      .slice(0, 4))
      response.write(eventOf(number))
    if (after >= 16) return response.end(END)
    if (attempt % 2 === 0) return response.end(eventOf(after + 5).slice(0, 20))
    await wait(5)
    response.destroy()
  })
  assert.deepEqual(await numbersOf(followLog(ask, { signal: bounded(), timeouts: TIMEOUTS })), upTo(20))
  assert.ok(attempts() > 4)
})

test('a service that is away and comes back at the same address is waited for, and that is reported once', async (t) => {
  const first = await listen(t, (_, response) => {
    response.write(eventOf(1) + eventOf(2))
  })
  const reported: boolean[] = []
  const onConnection = (isThere: boolean) => reported.push(isThere)
  const numbers: number[] = []
  for await (const { number } of followLog(first.ask, {
    signal: bounded(),
    onConnection,
    timeouts: TIMEOUTS,
  })) {
    numbers.push(number)
    if (number !== 2) continue
    first.close()
    const comesBack = (after: number, response: ServerResponse) => response.end(eventOf(after + 1) + END)
    setTimeout(() => listen(t, comesBack, first.port), 100)
  }
  assert.deepEqual(numbers, [1, 2, 3])
  assert.deepEqual(reported, [false, true])
})

test('a log without an end goes on behind what a service that stops says of its end', async (t) => {
  const { ask } = await listen(t, (after, response) => response.end(eventOf(after + 1) + END))
  const numbers: number[] = []
  for await (const { number } of followLog(ask, { signal: bounded(), hasEnd: false, timeouts: TIMEOUTS })) {
    numbers.push(number)
    if (number === 3) break
  }
  assert.deepEqual(numbers, [1, 2, 3])
})

test('a connection on which nothing is received is opened again', async (t) => {
  const { ask } = await listen(t, (after, response, _, attempt) => {
    response.write(': open\n\n')
    if (attempt > 1) response.end(eventOf(after + 1) + END)
  })
  const lines = followLog(ask, { signal: bounded(), timeouts: { ...TIMEOUTS, silenceMs: 50 } })
  assert.deepEqual(await numbersOf(lines), [1])
})

test('a service that says no is not asked again', async (t) => {
  const { ask, attempts } = await listen(t, (_, response) => response.writeHead(404).end('{}'))
  await assert.rejects(numbersOf(followLog(ask, { signal: bounded(), timeouts: TIMEOUTS })), { status: 404 })
  assert.equal(attempts(), 1)
})

test('a service that stays away is given up in the end', async (t) => {
  const { ask, close } = await listen(t, () => undefined)
  close()
  const lines = followLog(ask, { signal: bounded(), timeouts: { ...TIMEOUTS, absenceMs: 50 } })
  await assert.rejects(numbersOf(lines), { reason: 'NO_ANSWER', status: 0 })
})

test('following ends when its signal is aborted', async (t) => {
  const { ask } = await listen(t, (_, response) => response.write(eventOf(1)))
  const stop = new AbortController()
  const following = (async () => {
    for await (const _ of followLog(ask, { signal: stop.signal, timeouts: TIMEOUTS })) stop.abort(new Error('enough'))
  })()
  await assert.rejects(following, /enough/)
})

test('the text of a log is read line by line, from where it is asked for', async (t) => {
  const { ask } = await listen(t, (_, response, { url }) => {
    response.setHeader('x-next-offset', '12')
    response.write(`11 2026-01-01T00:00:00.000Z BUILDING stdout ${url}\n12 2026-01-01T00:00`)
    response.end(':01.000Z - stderr a b  c\nhalf a li')
  })
  const lines: LogLine[] = []
  for await (const line of readLines(ask, 10)) lines.push(line)
  const time = Date.UTC(2026, 0, 1)
  assert.deepEqual(lines, [
    { number: 11, time, phase: 'BUILDING', stream: 'stdout', text: `${ADDRESS}?offset=10` },
    { number: 12, time: time + 1000, phase: '', stream: 'stderr', text: 'a b  c' },
  ])
  assert.equal(await lastNumber(ask), 12)
})

test('events are whole, wherever the text is cut', () => {
  const text = ': quiet\r\nevent: line\r\ndata: a\r\ndata:b\r\n\r\ndata: c\n\nevent: lost\n\nid: 1\ndata\n\n'
  const expected = [
    { event: 'line', data: 'a\nb' },
    { event: 'message', data: 'c' },
    { event: 'message', data: '' },
  ]
  for (const size of [1, 2, 3, 5, 100]) {
    const take = createEventParser()
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    assert.deepEqual(pieces.flatMap(take), expected, `in pieces of ${size}`)
  }
})
