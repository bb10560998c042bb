/** When a purge is over for an edge: when it confirms, or when it certainly uses nothing stored any more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../channel/index.ts'
import { LEASE_MS } from './lease.ts'
import { createMember } from './member.ts'
import type { EdgeMethodsForControl } from './messages.ts'

const NUMBER = 7

function setUp({ isGone = false } = {}) {
  let now = 1000
  let progress = 0
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const member = createMember({
    clock: { sleep: async () => void (await turn()) },
    process: 'edge 1',
    isGone: () => isGone,
    leaseMs: LEASE_MS,
    now: () => now,
    onProgress: () => progress++,
  })
  return {
    member,
    isSettled: () => member.isSettled(NUMBER),
    progress: () => progress,
    send: (number = NUMBER) => member.send({ number, purge: { environment: 'e1' } }),
    async wait(ms: number) {
      now += ms
      for (let turns = 0; turns < 5; turns++) await turn()
    },
  }
}

const connection = (purge: () => Promise<void>) =>
  ({
    call: purge,
    notify: () => undefined,
    closed: new Promise(() => undefined),
    close: () => undefined,
  }) as unknown as Caller<EdgeMethodsForControl>
const never = () => new Promise<void>(() => undefined)

test('an edge that confirms has applied it', async () => {
  const { member, isSettled, progress, send, wait } = setUp()
  member.connected(connection(async () => undefined))
  send()
  assert.equal(isSettled(), false)
  await wait(0)
  assert.equal(isSettled(), true)
  assert.equal(progress(), 1)
  assert.equal(member.isSettled(NUMBER - 1), false, 'an earlier one may be missing')
  assert.equal(member.applied(), 0)
})

test('an edge has applied all purges up to a number when none before it is missing', async () => {
  const { member, send, wait } = setUp()
  member.connected(connection(async () => undefined))
  member.renewed(4)
  for (const number of [6, 7]) send(number)
  await wait(0)
  assert.equal(member.applied(), 4)
  send(5)
  await wait(0)
  assert.equal(member.applied(), 7)
})

test('an edge that does not answer is waited for until its lease has run out', async () => {
  const { member, isSettled, send, wait } = setUp()
  member.connected(connection(never))
  await wait(1000)
  member.renewed(6)
  send()
  await wait(LEASE_MS - 1)
  assert.equal(isSettled(), false)
  await wait(1)
  assert.equal(isSettled(), true)
})

test('an edge that has left is not waited for', async () => {
  const { member, isSettled, send, wait } = setUp()
  const opened = connection(never)
  member.connected(opened)
  send()
  await wait(0)
  assert.equal(isSettled(), false)
  member.left()
  assert.equal(isSettled(), true)
  member.disconnected(opened)
  assert.equal(await member.forgotten(new AbortController().signal), true)
})

test('an edge that refuses is waited for in the same way, and a renewal with the number ends the wait', async () => {
  const { member, isSettled, send, wait } = setUp()
  member.connected(connection(() => Promise.reject(new Error('the disk is full'))))
  send()
  await wait(100)
  assert.equal(isSettled(), false)
  member.renewed(NUMBER)
  assert.equal(isSettled(), true)
})

test('an edge without a connection has a lease until it runs out', async () => {
  const { isSettled, wait } = setUp()
  await wait(LEASE_MS - 1)
  assert.equal(isSettled(), false)
  await wait(1)
  assert.equal(isSettled(), true)
})

test('an edge that comes from another control process may have a lease of that one', async () => {
  const { member, isSettled, wait } = setUp()
  await wait(LEASE_MS + 1)
  assert.equal(isSettled(), true)
  member.met(2)
  assert.equal(isSettled(), false)
  await wait(LEASE_MS)
  assert.equal(isSettled(), true)
})

test('an edge whose process is certainly gone is not waited for', () => {
  assert.equal(setUp({ isGone: true }).isSettled(), true)
})

test('an edge is forgotten when it is fenced, unless it has connected again', async () => {
  const { member, wait } = setUp()
  const { signal } = new AbortController()
  const first = member.forgotten(signal)
  member.connected(connection(never))
  await wait(0)
  assert.equal(await first, false)
  const other = setUp()
  const gone = other.member.forgotten(signal)
  await other.wait(LEASE_MS)
  assert.equal(await gone, true)
})
