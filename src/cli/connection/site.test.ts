import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { lookupFor, noteOnAddress } from './site.ts'

const SITE = new URL('http://shop.localhost:8081/news')
const at = (url: URL | string, service?: string) =>
  lookupFor({ url: new URL(url), service: service === undefined ? undefined : new URL(service) })

test('a name under localhost is this machine, by either address family, without a DNS query', async () => {
  for (const lookup of [at(SITE), at(SITE, 'http://127.0.0.1:8080'), at('http://localhost', 'http://localhost:8080')]) {
    assert.ok(lookup)
    const found = await promisify(lookup)('whatever', { all: true })
    assert.deepEqual(found, [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ])
  }
})

test('where the service is on another machine, so is a site under localhost', async () => {
  const lookup = at(SITE, 'https://192.0.2.7')
  assert.ok(lookup)
  assert.deepEqual(await promisify(lookup)('shop.localhost', { all: true }), [{ address: '192.0.2.7', family: 4 }])
})

test('any other name is asked for as usual', () => {
  for (const url of ['https://shop.example.com', 'https://localhost.example.com', 'https://notlocalhost']) {
    assert.equal(at(url, 'http://127.0.0.1:8080'), undefined)
  }
})

test('the note on an address under localhost depends on where the service is', () => {
  assert.match(noteOnAddress(SITE.href, 'http://127.0.0.1:8080') ?? '', /this machine.*headland curl/)
  assert.match(noteOnAddress(SITE.href, 'https://headland.example.com') ?? '', /on another one.*'domain'/)
  assert.equal(noteOnAddress('https://shop.example.com', 'http://127.0.0.1:8080'), undefined)
  assert.equal(noteOnAddress('', 'http://127.0.0.1:8080'), undefined)
})
