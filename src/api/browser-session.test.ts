import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { FastifyRequest } from 'fastify'
import { holds } from '../../test/support/fuzz.ts'
import { createBrowserSession } from './browser-session.ts'

const request = (headers: Record<string, string>, method = 'POST') =>
  ({ method, headers, host: headers.host ?? '' }) as unknown as FastifyRequest

test('behind HTTPS the cookie has a name that no neighbour can set', () => {
  const { cookieFor, tokenOf } = createBrowserSession({ publicUrl: 'https://headland.example.com' })
  assert.match(
    cookieFor('secret', 60),
    /^__Host-headland_session=secret; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=60$/,
  )
  assert.equal(tokenOf(request({ cookie: 'headland_session=planted; __Host-headland_session=ours' })), 'ours')
  assert.equal(tokenOf(request({ cookie: 'headland_session=planted' })), undefined)
})

test('without HTTPS the cookie has its plain name, as browsers want it', () => {
  const { cookieFor, tokenOf } = createBrowserSession({})
  assert.equal(cookieFor('secret', 60), 'headland_session=secret; Path=/; HttpOnly; SameSite=Strict; Max-Age=60')
  assert.equal(tokenOf(request({ cookie: 'a=b; headland_session=ours; c=d' })), 'ours')
})

const PLANTED = ['\u00a0', '\u00a0\u00a0', '\t', '\v', '\f', '\ufeff', '\u2028', '"', ';', '=', '\u00a0 ', ';;']

test('a cookie whose name begins with a blank of any kind is not the session, with or without HTTPS', () => {
  for (const publicUrl of ['https://headland.example.com', undefined]) {
    const { cookieFor, tokenOf } = createBrowserSession({ publicUrl })
    const [name = ''] = cookieFor('', 0).split('=')
    for (const blank of PLANTED) {
      for (const cookie of [
        `${blank}${name}=planted`,
        `a=b;${blank}${name}=planted`,
        `a=b; ${blank}${name}=planted`,
        `a=b; ${blank}${name}=planted; ${name}${blank}=planted`,
      ])
        assert.equal(tokenOf(request({ cookie })), undefined, JSON.stringify(cookie))
      assert.equal(tokenOf(request({ cookie: `${blank}${name}=planted; ${name}=ours` })), 'ours')
    }
  }
})

test('whatever bytes a neighbour plants, the session is a token that stands alone under the exact name', async () => {
  const { tokenOf } = createBrowserSession({ publicUrl: 'https://headland.example.com' })
  // Every byte but the one that ends a cookie, as latin1 gives it.
  const byte = fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x3b)
  const junk = fc.array(byte, { maxLength: 6 }).map((codes) => String.fromCharCode(...codes))
  const NAME = '__Host-headland_session'
  await holds(
    fc.property(junk, junk, junk, (before, middle, after) => {
      const planted = `${before}${NAME}${middle}=planted${after}`
      // The name ends at the first equals sign.
      const isExact = before === '' && /^(?:$|=)/.test(middle)
      const token = tokenOf(request({ cookie: `a=b; ${planted}; ${NAME}=ours; c=d` }))
      // A second cookie with the exact name must have been accepted by the browser: then neither is trusted.
      assert.equal(token, isExact ? undefined : 'ours')
    }),
    500,
  )
})

test('two session cookies are none, whichever comes first', () => {
  const { tokenOf } = createBrowserSession({ publicUrl: 'https://headland.example.com' })
  const [one, other] = ['__Host-headland_session=one', '__Host-headland_session=other']
  for (const cookie of [
    `${one}; ${other}`,
    `${one}; ${one}`,
    `${one}; a=b; ${other}`,
    `${one}; __Host-headland_session=`,
  ])
    assert.equal(tokenOf(request({ cookie })), undefined, cookie)
})

test('who writes must come from the address that was asked, or from the public one', () => {
  const { checkOrigin } = createBrowserSession({ publicUrl: 'https://headland.example.com' })
  const from = (origin: string, method = 'POST') => request({ host: '127.0.0.1:8080', origin }, method)
  checkOrigin(from('http://127.0.0.1:8080'))
  checkOrigin(from('https://headland.example.com'))
  checkOrigin(request({ host: '127.0.0.1:8080' }))
  for (const origin of [
    'http://headland.example.com',
    'https://shop.headland.example.com',
    'http://127.0.0.1:8081',
    'null',
  ]) {
    assert.throws(() => checkOrigin(from(origin)), { reason: 'ORIGIN_REFUSED' }, origin)
    checkOrigin(from(origin, 'GET'))
  }
  const other = request({ host: '127.0.0.1:8080', origin: 'http://127.0.0.1:8080', 'sec-fetch-site': 'same-site' })
  assert.throws(() => checkOrigin(other), { reason: 'ORIGIN_REFUSED' })
})
