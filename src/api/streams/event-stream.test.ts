import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import { createChanges } from '../../base/index.ts'
import { eventsOf } from './event-stream.ts'

function open() {
  const clock = handClock()
  const changes = createChanges()
  const over = new AbortController()
  let followers = 0
  const events = eventsOf({
    clock,
    prefix: 'accounts/a/',
    signal: over.signal,
    follow(listener) {
      followers++
      const leave = changes.follow('a', listener)
      return () => {
        followers--
        leave()
      }
    },
  })
  const next = async () => (await events.next()).value as string | undefined
  const notify = (name: string) => changes.notify('a', name)
  return { clock, over, events, next, notify, notifyEverything: changes.notifyEverything, followers: () => followers }
}

const eventOf = (...names: string[]) =>
  names.map((name) => `event: change\ndata: {"name":"accounts/a/${name}"}\n\n`).join('')

const HELLO = 'event: hello\ndata: {}\n\n'

/** Lets pending work run. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('the greeting comes first, and a change after it is sent at once, with the whole name', async () => {
  const { next, notify } = open()
  assert.ok((await next())?.endsWith(HELLO))
  const waiting = next()
  await turn()
  notify('apps/shop')
  assert.equal(await waiting, eventOf('apps/shop'))
})

test('what changes between the greeting and the next reading is not lost', async () => {
  const { next, notify } = open()
  await next()
  notify('apps/one')
  notify('apps/two')
  assert.equal(await next(), eventOf('apps/one', 'apps/two'))
})

test('a name that changes again and again is sent once in 200 milliseconds', async () => {
  const { clock, next, notify } = open()
  await next()
  notify('apps/shop')
  assert.equal(await next(), eventOf('apps/shop'))
  const events: (string | undefined)[] = []
  const reading = next().then((event) => events.push(event))
  await turn()
  for (let times = 0; times < 50; times++) notify('apps/shop')
  notify('apps/blog')
  await clock.advance(199)
  assert.deepEqual(events, [])
  await clock.advance(1)
  await reading
  assert.deepEqual(events, [eventOf('apps/shop', 'apps/blog')])
})

test('a reader is asked to read everything again when changes may have been missed', async () => {
  const { next, notifyEverything } = open()
  await next()
  const waiting = next()
  await turn()
  notifyEverything()
  assert.equal(await waiting, HELLO)
})

test('a reader who is far behind is asked to read everything again, and is up to date after it', async () => {
  const { clock, next, notify } = open()
  await next()
  for (let at = 0; at < 10_000; at++) notify(`apps/a${at}`)
  assert.equal(await next(), HELLO)
  const waiting = next()
  await clock.advance(200)
  notify('apps/shop')
  assert.equal(await waiting, eventOf('apps/shop'))
})

test('a quiet stream sends a comment every 15 seconds', async () => {
  const { clock, next } = open()
  await next()
  const waiting = next()
  await turn()
  await clock.advance(15_000)
  assert.match((await waiting) ?? '', /^: .*\n\n$/)
})

test('a stream that is over ends at once, and unsubscribes', async () => {
  const { over, events, followers } = open()
  await events.next()
  assert.equal(followers(), 1)
  const waiting = events.next()
  await turn()
  over.abort()
  assert.equal((await waiting).done, true)
  assert.equal(followers(), 0)
})
