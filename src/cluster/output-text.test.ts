import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOutputOver, outputText, readOutput } from './output-text.ts'

const position = { stdout: { time: '2026-01-01T00:00:00.000000001Z', count: 2 } }

test('how far an output was read is the same after it was written and read', () => {
  for (const isOver of [false, true])
    assert.deepEqual(readOutput(outputText({ position, isOver })), { position, isOver })
  assert.equal(outputText({ position: {}, isOver: false }), '')
})

test('what is no position is none', () => {
  const nothing = { position: {}, isOver: false }
  for (const text of [
    '',
    'null',
    '{',
    '{"position":{"stdout":{"time":"now","count":1}},"isOver":"yes"}',
    '{"position":3}',
  ])
    assert.deepEqual(readOutput(text), nothing, text)
})

test('an output is over when its row says so, or is gone', () => {
  const texts = [outputText({ position, isOver: true }), undefined, outputText({ position, isOver: false }), '']
  assert.deepEqual(texts.map(isOutputOver), [true, true, false, false])
})
