import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation } from '../../../api/types.ts'
import { inOrder, summaryOf } from './order.ts'

const operation = (name: string, phase: string, minute: number, given: { done?: boolean; build?: string } = {}) =>
  ({
    name,
    done: given.done ?? false,
    metadata: { phase, build: given.build ?? 'builds/1', createTime: `2026-05-20T13:${minute}:00.000Z` },
  }) as unknown as Operation

test('what runs comes before what waits, and the oldest of each kind first', () => {
  const found = inOrder([
    operation('waits-late', 'QUEUED', 30),
    operation('waits-early', 'QUEUED', 10),
    operation('runs-late', 'INSTALLING', 40),
    operation('runs-early', 'BUILDING', 20),
    operation('purge', 'QUEUED', 11, { build: 'builds/no_build' }),
    operation('done', 'DONE', 12, { done: true }),
  ])
  assert.deepEqual(
    found.map(({ name }) => name),
    ['runs-early', 'runs-late', 'waits-early', 'waits-late'],
  )
  assert.equal(summaryOf(found), '2 running, 2 waiting')
  assert.equal(summaryOf(found.slice(0, 1)), '1 running')
})
