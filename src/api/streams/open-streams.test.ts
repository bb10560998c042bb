import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { LIMITS } from '../../contract/index.ts'
import type { RouteCall } from '../route.ts'
import { createOpenStreams } from './open-streams.ts'

type Reader = Pick<RouteCall<unknown, unknown>, 'principal' | 'account' | 'reply'>

function reader(caller: string, account = 'account 1', isGone = false) {
  const raw = Object.assign(new EventEmitter(), { destroyed: isGone })
  const made = { principal: { caller, memberships: [] }, account: { id: account }, reply: { raw } } as unknown as Reader
  return { ...made, leave: () => raw.emit('close') }
}

const refused = (of: string) => ({ reason: 'TOO_MANY_STREAMS', metadata: { limit: String(MOST[of]), of } })
const MOST: Record<string, number> = {
  caller: LIMITS.logStreams,
  account: LIMITS.accountStreams,
  service: LIMITS.serviceStreams,
}

test('each caller has a limit of streams of a kind; closing one allows another', () => {
  for (const [kind, max] of [
    ['events', LIMITS.eventStreams],
    ['logs', LIMITS.logStreams],
  ] as const) {
    const streams = createOpenStreams()
    const readers = Array.from({ length: max }, () => reader('user 1'))
    for (const each of readers) streams.enter(each, kind)
    assert.throws(() => streams.enter(reader('user 1'), kind), refused('caller'))
    streams.enter(reader('user 1'), kind === 'events' ? 'logs' : 'events')
    streams.enter(reader('user 2'), kind)
    readers[0]?.leave()
    streams.enter(reader('user 1'), kind)
    assert.throws(() => streams.enter(reader('user 1'), kind), refused('caller'))
  }
})

test('an account has so many streams and no more, however many credentials it makes', () => {
  const streams = createOpenStreams()
  const readers = Array.from({ length: LIMITS.accountStreams }, (_, number) => reader(`credential ${number}`))
  for (const each of readers) streams.enter(each, 'logs')
  assert.throws(() => streams.enter(reader('another'), 'events'), refused('account'))
  streams.enter(reader('another', 'account 2'), 'events')
  for (const each of readers) each.leave()
  assert.equal(streams.count(), 1)
})

test('the service has so many streams and no more, of however many accounts', () => {
  const streams = createOpenStreams()
  for (let number = 0; number < LIMITS.serviceStreams; number++)
    streams.enter(reader(`credential ${number}`, `account ${number % 50}`), 'logs')
  assert.throws(() => streams.enter(reader('another', 'another account'), 'events'), refused('service'))
})

test('a reader who left before it was counted is not counted for ever', () => {
  const streams = createOpenStreams()
  for (let count = 0; count < 2 * LIMITS.logStreams; count++) streams.enter(reader('user 1', 'account 1', true), 'logs')
  assert.equal(streams.count(), 0)
})
