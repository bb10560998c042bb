import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { TIMEOUT_MS } from '../../../test/support/until.ts'
import { type FollowState, followLog } from './follow.ts'
import { createLines } from './lines.ts'

type Log = { text(offset: number): number; events(after: number, response: ServerResponse, attempt: number): void }

const textLine = (number: number) => `${number} 2026-01-01T00:00:00.000Z BUILDING stdout line ${number}\n`
const event = (number: number) =>
  `id: ${number}\nevent: line\ndata: ${JSON.stringify({ number, time: 0, stream: 'stdout', phase: '', text: `line ${number}` })}\n\n`

/** Answers as the service does: text up to a line, or events after one. */
async function startLog(t: TestContext, { text, events }: Log) {
  const asked: string[] = []
  let attempt = 0
  const server = createServer((request: IncomingMessage, response) => {
    if (request.headers.accept !== 'text/event-stream') {
      const offset = Number(new URL(request.url ?? '', 'http://log').searchParams.get('offset'))
      asked.push(`text ${offset}`)
      for (let number = offset + 1; number <= text(offset); number++) response.write(textLine(number))
      return response.end()
    }
    const after = Number(request.headers['last-event-id'] ?? 0)
    asked.push(`events ${after}`)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': open\n\n')
    events(after, response, attempt++)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/log`, asked }
}

function reading(t: TestContext, address: string) {
  const lines = createLines()
  const states: FollowState[] = []
  const twice: number[] = []
  const over = new AbortController()
  t.after(() => over.abort())
  const looking = { now: new AbortController(), back: Promise.withResolvers<void>() }
  const done = followLog({
    address,
    last: lines.last,
    onLines(more) {
      twice.push(...more.filter(({ number }) => number <= lines.last()).map(({ number }) => number))
      lines.append(more)
    },
    onState: (state) => states.push(state),
    signal: AbortSignal.any([over.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    attention: { lost: () => looking.now.signal, present: () => looking.back.promise },
    retryMs: { first: 5, max: 20 },
  })
  return { lines, states, twice, done, looking, over }
}

test('a complete log is read as text, and the stream reports its end', async (t) => {
  const { address, asked } = await startLog(t, {
    text: () => 500,
    events: (_, response) => response.end('event: end\ndata: {}\n\n'),
  })
  const { lines, states, done } = reading(t, address)
  await done
  assert.equal(lines.count(), 500)
  assert.deepEqual(asked, ['text 0', 'events 500'])
  assert.deepEqual(states, ['reading', 'following', 'over'])
})

test('a connection that breaks is resumed after the last line, and no line comes twice or is missed', async (t) => {
  const { address, asked } = await startLog(t, {
    text: (offset) => Math.max(offset, 2),
    events(after, response, attempt) {
      for (let number = after + 1; number <= after + 3; number++) response.write(event(number))
      if (attempt < 2) setImmediate(() => response.destroy())
      else response.end('event: end\ndata: {}\n\n')
    },
  })
  const { lines, states, twice, done } = reading(t, address)
  await done
  const numbers = Array.from({ length: lines.count() }, (_, index) => lines.at(index)?.number)
  assert.deepEqual(
    numbers,
    Array.from({ length: lines.last() }, (_, index) => index + 1),
  )
  assert.deepEqual(twice, [])
  assert.equal(states.at(-1), 'over')
  assert.equal(states.filter((state) => state === 'waiting').length, 2)
  assert.equal(asked.filter((each) => each.startsWith('events')).length, 3)
})

test('a stream that ends without saying so is not taken for the end of the log', async (t) => {
  const { address } = await startLog(t, {
    text: (offset) => offset,
    events(after, response, attempt) {
      if (attempt === 0) response.end(event(after + 1))
      else response.end('event: end\ndata: {}\n\n')
    },
  })
  const { states, lines, done } = reading(t, address)
  await done
  assert.deepEqual(states, ['reading', 'following', 'waiting', 'reading', 'following', 'over'])
  assert.equal(lines.count(), 1)
})

test('a refusal is reported and not retried', async (t) => {
  const server = createServer((_, response) => response.writeHead(404).end('{}'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { states, done } = reading(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}/log`)
  await done
  assert.deepEqual(states, ['reading', 'refused'])
})

test('a hidden page has no connection, and continues reading when it is visible again', async (t) => {
  const open = Promise.withResolvers<ServerResponse>()
  const { address, asked } = await startLog(t, {
    text: (offset) => Math.max(offset, 3),
    events(_, response, attempt) {
      if (attempt === 0) open.resolve(response)
      else response.end('event: end\ndata: {}\n\n')
    },
  })
  const { done, looking, states } = reading(t, address)
  const response = await open.promise
  const closed = once(response, 'close', { signal: AbortSignal.timeout(TIMEOUT_MS) })
  const { now } = looking
  looking.now = new AbortController()
  now.abort()
  await closed
  assert.deepEqual(asked, ['text 0', 'events 3'])
  looking.back.resolve()
  await done
  assert.deepEqual(asked, ['text 0', 'events 3', 'text 3', 'events 3'])
  assert.equal(states.at(-1), 'over')
})
