import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AskedEndpoint, Contacts } from '../../builds/index.ts'
import { type Evidence, endpointsToAsk, inSentences, suspicionOf } from './suspicion.ts'

type Contact = Contacts[number]

const contact = (given: Partial<Contact>): Contact => ({
  host: 'cms.example.com',
  protocol: 'tcp',
  port: 443,
  addresses: ['192.0.2.1'],
  isRefused: false,
  isNew: false,
  outcome: 'CONNECTED',
  ...given,
})
const cms: AskedEndpoint = { protocol: 'https', host: 'cms.example.com', port: 443 }
const pages = (count: number, prefix = '/post/'): Set<string> =>
  new Set(Array.from({ length: count }, (_, at) => `${prefix}${String(at).padStart(4, '0')}`))

const well: Evidence = {
  contacts: [contact({})],
  liveContacts: [contact({})],
  asked: [cms],
  pages: pages(100),
  livePages: pages(100),
  limits: { action: 'HOLD', maxLostPagesPercent: 20, minLostPages: 10 },
}

test('a build that reached its CMS and has its pages is not suspicious', () => {
  assert.equal(suspicionOf(well), undefined)
})

for (const outcome of ['CONNECTION_REFUSED', 'NO_ANSWER', 'BLOCKED', 'NAME_NOT_RESOLVED'] as const) {
  test(`a known server that could not be reached is suspicious: ${outcome}`, () => {
    const port = outcome === 'NAME_NOT_RESOLVED' ? null : 443
    const found = suspicionOf({ ...well, contacts: [contact({ outcome, port })] })
    assert.deepEqual(found, { unreachable: [{ host: cms.host, port, outcome }], lostPages: null })
  })
}

test('a server that answered once was reached, whatever became of other connections', () => {
  const contacts = [contact({ port: 80, outcome: 'CONNECTION_REFUSED' }), contact({})]
  assert.equal(suspicionOf({ ...well, contacts }), undefined)
})

test('a server that no variable names, telemetry and fonts are not the CMS', () => {
  const hosts = ['elsewhere.example.com', 'telemetry.nextjs.org', 'fonts.googleapis.com']
  const contacts = hosts.map((host) => contact({ host, outcome: 'NO_ANSWER' }))
  const asked = hosts.slice(1).map((host) => ({ ...cms, host }))
  assert.equal(suspicionOf({ ...well, contacts, asked }), undefined)
})

test('a server that variables name by its address is found', () => {
  const contacts = [contact({ host: null, addresses: ['192.0.2.9'], port: 8080, outcome: 'CONNECTION_REFUSED' })]
  const asked: AskedEndpoint[] = [{ protocol: 'http', host: '192.0.2.9', port: 8080 }]
  assert.deepEqual(suspicionOf({ ...well, contacts, asked })?.unreachable, [
    { host: '192.0.2.9', port: 8080, outcome: 'CONNECTION_REFUSED' },
  ])
})

test('a server that the live build did not reach either is no reason to hold a build', () => {
  const contacts = [contact({ outcome: 'NO_ANSWER' })]
  assert.equal(suspicionOf({ ...well, contacts, liveContacts: contacts }), undefined)
  // Records of earlier versions only have whether the contact was allowed.
  const { outcome: _, ...old } = contact({})
  assert.ok(suspicionOf({ ...well, contacts, liveContacts: [old] }))
  assert.equal(suspicionOf({ ...well, contacts, liveContacts: [{ ...old, isRefused: true }] }), undefined)
})

test('if the machine does not record contacts, only the pages count', () => {
  const none = { contacts: null, liveContacts: null }
  assert.equal(suspicionOf({ ...well, ...none }), undefined)
  assert.deepEqual(suspicionOf({ ...well, ...none, pages: pages(50) })?.unreachable, [])
})

test('pages are lost above the share and above the number that are set, and not at them', () => {
  const lost = (now: number, before: number, limits = well.limits) =>
    suspicionOf({ ...well, pages: pages(now), livePages: pages(before), limits })?.lostPages?.count
  assert.equal(lost(80, 100), undefined)
  assert.equal(lost(79, 100), 21)
  // A small site may lose most of its pages.
  assert.equal(lost(1, 10), undefined)
  assert.equal(lost(0, 10), 10)
  assert.equal(lost(99, 100, { ...well.limits, maxLostPagesPercent: 0, minLostPages: 1 }), 1)
  assert.equal(lost(0, 1000, { ...well.limits, maxLostPagesPercent: 100 }), undefined)
  assert.equal(lost(0, 0), undefined)
  assert.equal(lost(200, 100), undefined)
})

test('pages that got other names are not lost', () => {
  assert.equal(suspicionOf({ ...well, pages: pages(100, '/article/') }), undefined)
})

test('the first missing pages are named, with the number of the others', () => {
  const found = suspicionOf({ ...well, pages: pages(1, '/'), livePages: pages(101) })
  assert.equal(found?.lostPages?.names.length, 20)
  assert.equal(found?.lostPages?.names[0], '/post/0000')
  const [sentence = ''] = inSentences(found as NonNullable<typeof found>)
  assert.match(sentence, /has 1 pages, and the live deployment has 101 \(99 % fewer\)/)
  assert.match(sentence, /Missing: \/post\/0000, .*\/post\/0004 and 96 more\.$/)
})

test('names of any length give a text that can be stored and shown', () => {
  const livePages = new Set(Array.from({ length: 100 }, (_, at) => `/${at}/${'x'.repeat(4000)}`))
  const found = suspicionOf({ ...well, pages: new Set(), livePages })
  assert.ok(JSON.stringify(found).length < 10_000)
})

test('a server is probed at the port that was called, with the protocol of the variable', () => {
  const asked: AskedEndpoint[] = [cms, { protocol: 'tcp', host: 'db.example.com', port: null }]
  assert.deepEqual(
    endpointsToAsk(
      [
        { host: cms.host, port: 443 },
        { host: cms.host, port: 80 },
        { host: cms.host, port: null },
        { host: 'db.example.com', port: 5432 },
        { host: 'db.example.com', port: null },
        { host: 'not-named.example.com', port: 22 },
      ],
      asked,
    ),
    [
      { protocol: 'https', host: cms.host, port: 443 },
      { protocol: 'tcp', host: cms.host, port: 80 },
      { protocol: 'https', host: cms.host, port: 443 },
      { protocol: 'tcp', host: 'db.example.com', port: 5432 },
    ],
  )
})
