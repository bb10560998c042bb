/**
 * What reaches an app and is no part of the key: docs/operate/security.md says that it is the app's to name in Vary.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cachedApp, send, statusOf } from '../../../test/support/edge/cache.ts'

const UNKEYED: Record<string, string> = {
  cookie: 'theme=dark',
  accept: 'text/markdown',
  'accept-language': 'de',
  'user-agent': 'a telephone',
  referer: 'https://elsewhere.example/',
  origin: 'https://elsewhere.example',
  'save-data': 'on',
  'x-unknown': 'anything',
}

test('a page that an app calls public without a Vary is for all visitors, whatever its first visitor sent', async (t) => {
  for (const [name, value] of Object.entries(UNKEYED)) {
    const edge = await cachedApp(t, (asked, response) =>
      send(response, { 'cache-control': 'public, max-age=60' }, `made for ${asked.headers[name] ?? 'any'}`),
    )
    assert.equal((await edge.get('/', { [name]: value })).text, `made for ${value}`, `${name} reaches the app`)
    const other = await edge.get()
    assert.deepEqual([other.text, statusOf(other).slice(0, 3)], [`made for ${value}`, 'hit'], name)
  }
})

test('a header that the app names in Vary separates its pages, and what it calls private is not stored', async (t) => {
  for (const [name, value] of Object.entries(UNKEYED)) {
    const varied = await cachedApp(t, (asked, response) =>
      send(response, { 'cache-control': 'public, max-age=60', vary: name }, `made for ${asked.headers[name]}`),
    )
    await varied.get('/', { [name]: value })
    assert.equal((await varied.get()).text, 'made for undefined', name)
    assert.match(statusOf(await varied.get('/', { [name]: value })), /^hit/, name)
    const own = await cachedApp(t, (asked, response) =>
      send(response, { 'cache-control': 'private, max-age=60' }, `made for ${asked.headers[name]}`),
    )
    await own.get('/', { [name]: value })
    assert.equal((await own.get()).text, 'made for undefined', name)
  }
})
