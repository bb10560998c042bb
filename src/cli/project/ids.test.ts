import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../../client/index.ts'
import { UsageError } from '../../contract/index.ts'
import { wholeId } from './ids.ts'

const idOf = (end: string) => `0197a3c4-5b6d-7e8f-9a0b-${end}`
const named = (end: string, more = {}) => ({ name: `accounts/a/apps/b/environments/c/builds/${idOf(end)}`, ...more })

/** A service with these builds, and how many of them it was asked for. */
function serviceOf(items: unknown[], hasMore = false) {
  const limits: number[] = []
  const first = (async (_route: string, { limit }: { limit: number }) => {
    limits.push(limit)
    return { items, hasMore }
  }) as unknown as Client['first']
  const names = { account: 'a', app: 'b', environment: 'c' }
  return { at: { service: { client: { first } }, names }, limits }
}

test('a short id is the one build that ends with it; a whole one is not looked for', async () => {
  const { at, limits } = serviceOf([named('aaaa11111111'), named('aaaa22222222')])
  assert.equal(await wholeId(at, 'builds', '22222222'), idOf('aaaa22222222'))
  assert.equal(await wholeId(at, 'builds', 'a22222222'), idOf('aaaa22222222'))
  assert.deepEqual(limits, [1000, 1000])
  assert.equal(await wholeId(at, 'builds', idOf('ffffffffffff')), idOf('ffffffffffff'))
  assert.equal(limits.length, 2)
})

test('an id that two share is an error that names them, and more of it decides', async () => {
  const twins = [named('aaaa11111111', { state: 'FAILED' }), named('bbbb11111111', { createTime: '2026-01-01' })]
  const { at } = serviceOf(twins)
  await assert.rejects(wholeId(at, 'builds', '11111111'), (error: Error) => {
    assert.ok(error instanceof UsageError)
    assert.match(error.message, /^more than one build ends with 11111111: give more of the id\n.*aaaa11111111 FAILED\n/)
    return true
  })
  assert.equal(await wholeId(at, 'builds', 'b11111111'), idOf('bbbb11111111'))
})

test('thousands of builds with one end make a short error, without what a terminal obeys', async () => {
  const many = Array.from({ length: 1000 }, () => named('aaaa11111111', { state: 'x\x1b[2J\nFORGED' }))
  await assert.rejects(wholeId(serviceOf(many).at, 'builds', '11111111'), ({ message }: Error) => {
    assert.equal(message.split('\n').length, 6)
    assert.ok(!message.includes('\x1b') && !message.includes('\nFORGED'))
    return true
  })
})

test('an id that nothing has says where to look, and that it may be too old', async () => {
  await assert.rejects(wholeId(serviceOf([]).at, 'deployments', '11111111'), /'headland deployments' lists/)
  await assert.rejects(wholeId(serviceOf([], true).at, 'builds', '11111111'), /newest 1000: give its whole id/)
})
