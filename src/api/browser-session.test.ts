import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyRequest } from 'fastify'
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
