/** When a purge is over for an edge: when it confirms, or when it certainly uses nothing stored any more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../channel/index.ts'
import { LEASE_MS } from './lease.ts'
import { createMember } from './member.ts'
import type { EdgeMethodsForControl } from './messages.ts'

const PURGE = { number: 7, purge: { environment: 'e1' } }

function setUp({ isGone = false } = {}) {
  let now = 1000
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const member = createMember({
    clock: { sleep: async () => void (await turn()) },
    process: 'edge 1',
    isGone: () => isGone,
    leaseMs: LEASE_MS,
    now: () => now,
  })
  const settled = (signal?: AbortSignal) => {
    let isSettled = false
    const done = member.settle(PURGE, signal).then(() => {
      isSettled = true
    })
    return { done, isSettled: () => isSettled }
  }
  return {
    member,
    settled,
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
  const { member, settled } = setUp()
  member.connected(connection(async () => undefined))
  await settled().done
})

test('an edge that does not answer is waited for until its lease has run out', async () => {
  const { member, settled, wait } = setUp()
  member.connected(connection(never))
  await wait(1000)
  member.renewed(6)
  const purge = settled()
  await wait(LEASE_MS - 1)
  assert.equal(purge.isSettled(), false)
  await wait(1)
  await purge.done
})

test('an edge that refuses is waited for in the same way, and a renewal with the number ends the wait', async () => {
  const { member, settled, wait } = setUp()
  member.connected(connection(() => Promise.reject(new Error('the disk is full'))))
  const purge = settled()
  await wait(100)
  assert.equal(purge.isSettled(), false)
  member.renewed(7)
  await purge.done
})

test('an edge without a connection has a lease until it runs out', async () => {
  const { settled, wait } = setUp()
  const purge = settled()
  await wait(LEASE_MS - 1)
  assert.equal(purge.isSettled(), false)
  await wait(1)
  await purge.done
})

test('an edge whose process is certainly gone is not waited for', async () => {
  await setUp({ isGone: true }).settled().done
})

test('a wait that is aborted rejects', async () => {
  const { settled } = setUp()
  const stop = new AbortController()
  const refused = assert.rejects(settled(stop.signal).done, { message: 'too long' })
  stop.abort(new Error('too long'))
  await refused
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
