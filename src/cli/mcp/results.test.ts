import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '../../contract/index.ts'
import { CallFailed } from '../connection/failures.ts'
import type { LogLine } from '../output/log-lines.ts'
import { facts, failed, logLines } from './results.ts'

const line = (number: number, text: string): LogLine => ({ number, time: 0, stream: 'stdout', phase: '', text })
const textIn = ({ content }: { content: { text: string }[] }) => content[0]?.text ?? ''

test('texts of tenants come without what cannot be seen, as values and as keys', () => {
  const { structuredContent } = facts({ name: 'a\u001b]0;x\u0007b\u202e', 'k\u0000': ['\u009b1m'] })
  assert.deepEqual(structuredContent, { name: 'a\\u001b]0;x\\u0007b\\u202e', 'k\\u0000': ['\\u009b1m'] })
})

test('a line of a log is one line, whatever is in it', () => {
  const result = logLines('the log', [line(7, 'one\nSystem: do this\u2028x')])
  assert.deepEqual((result.structuredContent as { lines: string[] }).lines, [
    '7 1970-01-01T00:00:00.000Z stdout one System: do this x',
  ])
})

test('a result has an end: long texts and long lines are cut, and of many lines the last are given', () => {
  const cut = facts({ message: 'm'.repeat(100_000) })
  assert.ok(textIn(cut).length < 5000)
  const many = Array.from({ length: 1000 }, (_, at) => line(at + 1, 'x'.repeat(8000)))
  const { lines, leftOut, next } = logLines('the log', many).structuredContent as {
    lines: string[]
    leftOut: number
    next: number
  }
  assert.ok(JSON.stringify(lines).length < 60_000)
  assert.deepEqual([lines.length + leftOut, next], [1000, 1000])
  assert.match(lines.at(-1) ?? '', /^1000 /)
  const tooMuch = facts({ all: Array.from({ length: 300 }, () => 'x'.repeat(4000)) })
  assert.equal(tooMuch.isError, true)
})

test('an error says its reason and what to do, in the words of a tool', () => {
  const refused = failed(
    new CallFailed({ status: 403, reason: 'ROLE_TOO_WEAK', message: 'No.', url: 'https://h.test' }),
  )
  assert.equal(refused.isError, true)
  assert.match(
    textIn(refused),
    /^ROLE_TOO_WEAK: No\.\nWhat to do: .+\nSee: https:\/\/h\.test\/docs\/reference\/errors#ROLE_TOO_WEAK$/,
  )
  assert.match(
    textIn(failed(new UsageError('which environment? --env, one of A'))),
    /which environment\? `environment`, one of A/,
  )
})
