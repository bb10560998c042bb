import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answeredHosts, assign, type Candidate, wantedNames } from './names.ts'

const sites = [
  { accountId: 'a', hostLabel: 'one', domains: ['www.example.com', 'example.com'] },
  { accountId: 'b', hostLabel: 'two', domains: ['shop.example.org'] },
]
const given = { portalHost: 'portal.example.net', domain: 'sites.example.net', sites }
const namesOf = (hasWildcard: boolean, changed: Partial<typeof given> = {}) =>
  wantedNames({ ...given, ...changed, hasWildcard }).map(({ name, accountId }) => `${name} ${accountId}`)

test('wanted are the portal, the host of each environment and each custom domain', () => {
  assert.deepEqual(namesOf(false), [
    'portal.example.net null',
    'one.sites.example.net a',
    'www.example.com a',
    'example.com a',
    'two.sites.example.net b',
    'shop.example.org b',
  ])
})

test('a wildcard stands for the hosts of all environments', () => {
  assert.deepEqual(namesOf(true), [
    'portal.example.net null',
    '*.sites.example.net null',
    'www.example.com a',
    'example.com a',
    'shop.example.org b',
  ])
})

test('no CA is asked for localhost, an address or a name without a dot', () => {
  for (const portalHost of ['localhost', '127.0.0.1', '[::1]', '::1', 'intranet', 'a.localhost']) {
    assert.deepEqual(namesOf(false, { portalHost, domain: 'localhost', sites: [] }), [], portalHost)
  }
  assert.deepEqual(namesOf(true, { domain: 'localhost', sites: sites.slice(1) }), [
    'portal.example.net null',
    'shop.example.org b',
  ])
})

const hosts = answeredHosts(given)
const certificate = (id: string, source: Candidate['source'], accountId: string | null, ...names: string[]) => ({
  id,
  source,
  accountId,
  names,
  notAfter: 100,
})
const assigned = (...candidates: Candidate[]) =>
  Object.fromEntries([...assign(hosts, candidates, 50)].map(([name, { id }]) => [name, id]))

test('an uploaded certificate comes before one by ACME, and a newer upload before an older one', () => {
  const acme = certificate('9', 'ACME', 'a', 'www.example.com')
  const [older, newer] = [1, 2].map((id) => certificate(`${id}`, 'UPLOADED', 'a', 'www.example.com', 'example.com'))
  assert.deepEqual(assigned(acme), { 'www.example.com': '9' })
  assert.deepEqual(assigned(acme, older as Candidate), { 'www.example.com': '1', 'example.com': '1' })
  assert.deepEqual(assigned(newer as Candidate, acme, older as Candidate), {
    'www.example.com': '2',
    'example.com': '2',
  })
})

test('an account answers for its own hosts alone, whatever names its certificate has', () => {
  const all = [
    'www.example.com',
    'shop.example.org',
    'portal.example.net',
    '*.sites.example.net',
    'two.sites.example.net',
  ]
  assert.deepEqual(assigned(certificate('1', 'UPLOADED', 'a', ...all)), {
    'www.example.com': '1',
    'one.sites.example.net': '1',
  })
})

test('one of the operator answers for all hosts that it names', () => {
  assert.deepEqual(assigned(certificate('1', 'UPLOADED', null, '*.sites.example.net', 'portal.example.net')), {
    'portal.example.net': '1',
    '*.sites.example.net': '1',
    'one.sites.example.net': '1',
    'two.sites.example.net': '1',
  })
  const own = certificate('2', 'UPLOADED', 'a', 'one.sites.example.net')
  assert.equal(assigned(certificate('1', 'UPLOADED', null, '*.sites.example.net'), own)['one.sites.example.net'], '2')
})

test('an expired one, or one that is not issued yet, answers for nothing', () => {
  const name = 'www.example.com'
  assert.deepEqual(assigned({ ...certificate('1', 'ACME', 'a', name), notAfter: 50 }), {})
  assert.deepEqual(assigned({ ...certificate('1', 'ACME', 'a', name), notAfter: null }), {})
})
