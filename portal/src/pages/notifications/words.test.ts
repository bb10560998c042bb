import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aboutWords, addressesIn, deliveryWords, FIRST_CHOICE, NOTICES, placeWords } from './words.ts'

test('what a target is told is listed, and everything is one word', () => {
  assert.equal(aboutWords(['BUILD_LIVE', 'BUILD_FAILED']), 'Build failed, Live')
  assert.equal(aboutWords(NOTICES.map(({ kind }) => kind)), 'Everything')
  assert.ok(!FIRST_CHOICE.includes('BUILD_LIVE'))
})

test('a place is named without what is secret of it', () => {
  assert.equal(placeWords({ kind: 'SLACK', host: 'hooks.slack.com' }), 'Slack, hooks.slack.com')
  assert.equal(
    placeWords({ kind: 'EMAIL', addresses: ['a@x.example', 'b@x.example'] }),
    'E-mail, a@x.example, b@x.example',
  )
})

test('what came of a delivery is a word, with the reason', () => {
  const failed = { state: 'FAILED', attempts: 8, error: 'no_service', responseStatus: 404 } as const
  assert.deepEqual(deliveryWords(failed), { tone: 'bad', word: 'Failed', why: 'It answered 404: no_service' })
  const waiting = { state: 'WAITING', attempts: 1, error: 'No answer.' } as const
  assert.deepEqual(deliveryWords(waiting), { tone: 'warn', word: 'Tried again soon', why: 'No answer.' })
  assert.equal(deliveryWords({ ...waiting, attempts: 0, error: '' }).word, 'Being sent')
})

test('addresses are read with commas, blanks or lines between them', () => {
  assert.deepEqual(addressesIn(' a@x.example, b@x.example\nc@x.example; '), [
    'a@x.example',
    'b@x.example',
    'c@x.example',
  ])
})
