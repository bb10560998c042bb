import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Protection } from '../routes.ts'
import { unlockCookie } from './cookie.ts'
import { decide, type Verdict } from './decide.ts'

const NOW = Date.UTC(2026, 10, 17)
const DAY_MS = 24 * 60 * 60 * 1000
const PASSWORD = { hash: 'unused here', cookieKey: 'the key of this password' }
const ADDRESSES = ['203.0.113.0/24', '2001:db8::/32']

type Given = { environment?: string; cookieKey?: string; nowMs?: number }

/** The cookie as a browser sends it back. */
function cookie({ environment = 'e1', cookieKey = PASSWORD.cookieKey, nowMs = NOW }: Given = {}): string {
  const [pair = ''] = unlockCookie({ environment, cookieKey }, { nowMs, isSecure: false }).split(';')
  return pair
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

type Row = {
  what: string
  protection: Protection
  address?: string
  cookies?: string
  authorization?: string
  expected: Verdict
}

const ALLOW = { kind: 'allow' } as const
const ASK = { kind: 'ask' } as const
const FORBIDDEN = { kind: 'forbidden' } as const

const ROWS: readonly Row[] = [
  { what: 'a visitor without anything', protection: { password: PASSWORD }, expected: ASK },
  { what: 'a cookie', protection: { password: PASSWORD }, cookies: cookie(), expected: ALLOW },
  {
    what: 'a cookie among others',
    protection: { password: PASSWORD },
    cookies: `a=1;${cookie()} ;b=headland_unlock=2`,
    expected: ALLOW,
  },
  {
    what: 'a cookie after one of another host of the domain',
    protection: { password: PASSWORD },
    cookies: `${cookie({ environment: 'e2' })}; ${cookie()}`,
    expected: ALLOW,
  },
  {
    what: 'a cookie of another environment',
    protection: { password: PASSWORD },
    cookies: cookie({ environment: 'e2' }),
    expected: ASK,
  },
  {
    what: 'a cookie of the password before',
    protection: { password: PASSWORD },
    cookies: cookie({ cookieKey: 'the key before' }),
    expected: ASK,
  },
  {
    what: 'a cookie of 31 days ago',
    protection: { password: PASSWORD },
    cookies: cookie({ nowMs: NOW - 31 * DAY_MS }),
    expected: ASK,
  },
  {
    what: 'a cookie whose time was moved',
    protection: { password: PASSWORD },
    cookies: cookie().replace(/=\d+/, '=9999999999'),
    expected: ASK,
  },
  {
    what: 'a cookie without a signature',
    protection: { password: PASSWORD },
    cookies: 'headland_unlock=9999999999.',
    expected: ASK,
  },
  {
    what: 'a cookie with a part of its signature',
    protection: { password: PASSWORD },
    cookies: cookie().slice(0, -1),
    expected: ASK,
  },
  {
    what: 'a cookie with more than its signature',
    protection: { password: PASSWORD },
    cookies: `${cookie()}A`,
    expected: ASK,
  },
  {
    what: 'a cookie behind a thousand wrong ones',
    protection: { password: PASSWORD },
    cookies: `${'headland_unlock=x;'.repeat(1000)}${cookie()}`,
    expected: ASK,
  },
  {
    what: 'a cookie under another name',
    protection: { password: PASSWORD },
    cookies: `x${cookie()}`,
    expected: ASK,
  },
  {
    what: 'a password with Basic',
    protection: { password: PASSWORD },
    authorization: basic('ci:a:b ü'),
    expected: { kind: 'verify', password: 'a:b ü' },
  },
  {
    what: 'an empty password with Basic',
    protection: { password: PASSWORD },
    authorization: basic(':'),
    expected: { kind: 'verify', password: '' },
  },
  {
    what: 'a cookie and a password of the app',
    protection: { password: PASSWORD },
    cookies: cookie(),
    authorization: basic('app:its own'),
    expected: ALLOW,
  },
  { what: 'Basic without a colon', protection: { password: PASSWORD }, authorization: basic('x'), expected: ASK },
  { what: 'Basic that is no Base64', protection: { password: PASSWORD }, authorization: 'Basic ä', expected: ASK },
  {
    what: 'Basic of ten thousand letters',
    protection: { password: PASSWORD },
    authorization: basic(`x:${'x'.repeat(10_000)}`),
    expected: ASK,
  },
  { what: 'a token of the app', protection: { password: PASSWORD }, authorization: 'Bearer eDp5', expected: ASK },
  { what: 'an allowed address', protection: { addresses: ADDRESSES }, address: '203.0.113.9', expected: ALLOW },
  { what: 'an allowed IPv6 address', protection: { addresses: ADDRESSES }, address: '2001:db8::9', expected: ALLOW },
  {
    what: 'an allowed address in IPv6 form',
    protection: { addresses: ADDRESSES },
    address: '::ffff:203.0.113.9',
    expected: ALLOW,
  },
  { what: 'another address', protection: { addresses: ADDRESSES }, address: '198.51.100.1', expected: FORBIDDEN },
  { what: 'an address that is not known', protection: { addresses: ADDRESSES }, expected: FORBIDDEN },
  {
    what: 'an allowed address without the password',
    protection: { addresses: ADDRESSES, password: PASSWORD },
    address: '203.0.113.9',
    expected: ASK,
  },
  {
    what: 'an allowed address with a cookie',
    protection: { addresses: ADDRESSES, password: PASSWORD },
    address: '203.0.113.9',
    cookies: cookie(),
    expected: ALLOW,
  },
  {
    what: 'another address with a cookie',
    protection: { addresses: ADDRESSES, password: PASSWORD },
    address: '198.51.100.1',
    cookies: cookie(),
    expected: FORBIDDEN,
  },
  {
    what: 'another address with a password, which is not even compared',
    protection: { addresses: ADDRESSES, password: PASSWORD },
    address: '198.51.100.1',
    authorization: basic('ci:right'),
    expected: FORBIDDEN,
  },
]

for (const { what, protection, address, cookies, authorization, expected } of ROWS) {
  test(`${what}: ${expected.kind}`, () => {
    assert.deepEqual(decide('e1', protection, { address, cookies, authorization, nowMs: NOW }), expected)
  })
}

test('a cookie is good for 30 days, and not a second longer', () => {
  const visitor = { address: undefined, cookies: cookie(), authorization: undefined }
  const at = (nowMs: number) => decide('e1', { password: PASSWORD }, { ...visitor, nowMs }).kind
  assert.equal(at(NOW + 30 * DAY_MS - 1000), 'allow')
  assert.equal(at(NOW + 30 * DAY_MS), 'ask')
})

test('the cookie is out of the reach of scripts and other sites, and needs https where there is https', () => {
  const lock = { environment: 'e1', cookieKey: 'k' }
  const plain = unlockCookie(lock, { nowMs: NOW, isSecure: false })
  assert.match(plain, /^headland_unlock=\d+\.[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/)
  assert.equal(unlockCookie(lock, { nowMs: NOW, isSecure: true }), `${plain}; Secure`)
})
