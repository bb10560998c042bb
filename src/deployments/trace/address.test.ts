import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../contract/index.ts'
import { addressOf } from './address.ts'

const SITE = 'http://shop-x1.sites.example:8081'
const DOMAINS = ['www.shop.example', 'shop.example']
const read = (given: string): string => addressOf(given, SITE, DOMAINS).href

test('a path is one of the environment under its own host', () => {
  assert.equal(read('/'), `${SITE}/`)
  assert.equal(read('/news?page=2#top'), `${SITE}/news?page=2`)
  assert.equal(read('/über uns'), `${SITE}/%C3%BCber%20uns`)
})

test('a path that looks like a host is still a path', () => {
  assert.equal(read('//elsewhere.example/'), `${SITE}//elsewhere.example/`)
  assert.equal(new URL(read('/\\elsewhere.example/')).host, new URL(SITE).host)
  assert.equal(new URL(read('/@elsewhere.example/')).host, new URL(SITE).host)
})

test('a whole address keeps its scheme and port, and loses what never reaches a server', () => {
  assert.equal(read('https://www.shop.example/a?b'), 'https://www.shop.example/a?b')
  assert.equal(read('http://SHOP-X1.sites.example:9000/'), 'http://shop-x1.sites.example:9000/')
  assert.equal(read('https://user:secret@shop.example/#x'), 'https://shop.example/')
  assert.equal(read('https://shop.example./'), 'https://shop.example./')
})

const REFUSED = [
  'https://elsewhere.example/',
  'https://sites.example/',
  'https://shop-x2.sites.example/',
  'https://www.shop.example.elsewhere.example/',
  'https://elsewhere.example#@shop.example/',
  'https://www.shop.example@elsewhere.example/',
  'ftp://shop.example/',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'shop.example/',
  'news',
  'http://',
  'http://[::1',
]

for (const given of REFUSED) {
  test(`${given} is refused, with the field and without an echo of it`, () => {
    assert.throws(
      () => read(given),
      (error) => {
        assert.ok(error instanceof Problem)
        assert.equal(error.reason, 'FIELD_INVALID')
        assert.deepEqual(
          error.fields.map(({ field }) => field),
          ['url'],
        )
        assert.doesNotMatch(error.message, /elsewhere|passwd|alert/)
        return true
      },
    )
  })
}
