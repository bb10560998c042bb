import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge, withoutSecrets } from './http.ts'

const URL_OF_CHAT = 'https://hooks.example.com/services/T0123456/B0123456/XyZ%20token?key=abcdefgh'
const NOW = Date.parse('2026-11-18T12:00:00Z')

const answer = (status: number, headers: Record<string, string> = {}, body = '') =>
  judge({ status, headers, body: Buffer.from(body) }, URL_OF_CHAT, NOW)

test('a status of 2xx is a delivery; one below 500 is final, apart from those that pass', () => {
  for (const status of [200, 201, 202, 204]) assert.equal(answer(status).isDelivered, true)
  for (const status of [301, 302, 307, 400, 401, 403, 404, 410, 413, 422])
    assert.deepEqual([answer(status).isDelivered, answer(status).mayPass], [false, false], String(status))
  for (const status of [408, 425, 429, 500, 502, 503, 504])
    assert.deepEqual([answer(status).isDelivered, answer(status).mayPass], [false, true], String(status))
  assert.equal(answer(410).isGone, true)
  assert.equal(answer(404).isGone, undefined)
})

test('the pause that a receiver asks for is read, in seconds, with a fraction or as a date', () => {
  assert.equal(answer(429, { 'retry-after': '30' }).pauseMs, 30_000)
  assert.equal(answer(429, { 'retry-after': '0.25' }).pauseMs, 250)
  assert.equal(answer(503, { 'retry-after': 'Wed, 18 Nov 2026 12:01:00 GMT' }).pauseMs, 60_000)
  assert.equal(answer(503, { 'retry-after': '-5' }).pauseMs, undefined)
  assert.equal(answer(503, { 'retry-after': 'soon' }).pauseMs, undefined)
})

test('of an error the first words are kept, and neither the address nor its parts', () => {
  const echo = `no ${URL_OF_CHAT} POST /services/T0123456/B0123456/XyZ%20token B0123456 "XyZ token" abcdefgh end`
  assert.doesNotMatch(withoutSecrets(echo, URL_OF_CHAT), /0123456|XyZ|abcdefgh/)
  assert.match(withoutSecrets(echo, URL_OF_CHAT), /^no \[secret\].* end$/)
  const { error = '' } = answer(500, {}, `\u001b[31mbroken\u001b[0m\n${'x'.repeat(2000)}`)
  assert.match(error, /^broken x+$/)
  assert.ok(error.length <= 300)
})
