import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../base/index.ts'
import type { ControlRow, EdgeRow } from './records.ts'
import { createRouted } from './routed.ts'

const edgeOf = (control: string): EdgeRow => ({ process: `edge of ${control}`, connection: 1, control, applied: 0 })
const NEVER = new AbortController().signal

function setUp(rows: ControlRow[], edges: EdgeRow[]) {
  let reads = 0
  const written: number[] = []
  const records = {
    async controls() {
      reads += 1
      return rows
    },
    edges: async () => edges,
    setRouted: async (_: string, revision: number) => void written.push(revision),
  }
  return { ...createRouted({ clock: systemClock, records, control: 'me' }), written, reads: () => reads }
}

test('the edges of a process that is behind are waited for, until it has caught up', async () => {
  const other = { process: 'other', heartbeats: 1, routed: 4 }
  const { untilOthersRouted, reads } = setUp([{ process: 'me', heartbeats: 1, routed: 1 }, other], [edgeOf('other')])
  const waiting = untilOthersRouted(5, NEVER)
  while (reads() < 3) await systemClock.sleep(1)
  other.routed = 5
  await waiting
})

test('one that no edge follows, or that records nothing, is not waited for', async () => {
  const behind = { process: 'other', heartbeats: 1, routed: 4 }
  await setUp([behind], [edgeOf('gone')]).untilOthersRouted(5, NEVER)
  await setUp([{ ...behind, routed: null }], [edgeOf('other')]).untilOthersRouted(5, NEVER)
})

test('a wait ends with its signal', async () => {
  const ending = new AbortController()
  const behind = { process: 'other', heartbeats: 1, routed: 4 }
  const waiting = setUp([behind], [edgeOf('other')]).untilOthersRouted(5, ending.signal)
  ending.abort()
  await waiting
})

test('a revision is recorded once', async () => {
  const { routed, written } = setUp([], [])
  await routed(1)
  await routed(1)
  await routed(2)
  assert.deepEqual(written, [1, 2])
})
