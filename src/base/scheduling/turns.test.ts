import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from './turns.ts'

const soon = () => new Promise((resolve) => setImmediate(resolve))

test('work on one thing never overlaps, and keeps its order', async () => {
  const inTurn = createTurns()
  const seen: string[] = []
  const work = (name: string) => async () => {
    seen.push(`${name} begins`)
    await soon()
    seen.push(`${name} ends`)
  }
  await Promise.all([inTurn('x', work('one')), inTurn('x', work('two'))])
  assert.deepEqual(seen, ['one begins', 'one ends', 'two begins', 'two ends'])
})

test('work on another thing does not wait', async () => {
  const inTurn = createTurns()
  const first = Promise.withResolvers<void>()
  const waiting = inTurn('x', () => first.promise)
  assert.equal(await inTurn('y', async () => 'done'), 'done')
  first.resolve()
  await waiting
})

test('work that fails rejects only for its own caller', async () => {
  const inTurn = createTurns()
  const failed = assert.rejects(
    inTurn('x', async () => Promise.reject(new Error('no'))),
    /no/,
  )
  assert.equal(await inTurn('x', async () => 'done'), 'done')
  await failed
})
