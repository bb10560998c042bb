import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Connection,
  type Contact,
  contactKey,
  createNames,
  newContacts,
  RECORD_LIMITS,
  toContacts,
} from './contacts.ts'

const nothingRefused = () => false
const tcp = (address: string, port = 443, answer: Connection['answer'] = 'ACCEPTED'): Connection => ({
  address,
  protocol: 'tcp',
  port,
  answer,
})
const contact = (given: Partial<Contact>): Contact => ({
  host: null,
  protocol: 'tcp',
  port: 443,
  addresses: [],
  isRefused: false,
  outcome: 'CONNECTED',
  ...given,
})

test('addresses of one host are one contact, and names come before bare addresses', () => {
  const names = createNames()
  names.ask('registry.test')
  names.answer('registry.test', ['192.0.2.1', '192.0.2.2'])
  const contacts = toContacts([tcp('198.51.100.1'), tcp('192.0.2.2'), tcp('192.0.2.1')], names, nothingRefused)
  assert.deepEqual(contacts, [
    contact({ host: 'registry.test', addresses: ['192.0.2.1', '192.0.2.2'] }),
    contact({ addresses: ['198.51.100.1'] }),
  ])
})

test('an address has the first name that led to it, and the other names are contacts without a connection', () => {
  const names = createNames()
  for (const name of ['b.test', 'a.test']) {
    names.ask(name)
    names.answer(name, ['192.0.2.1'])
  }
  assert.deepEqual(toContacts([tcp('192.0.2.1')], names, nothingRefused), [
    contact({ host: 'a.test', protocol: 'dns', port: null, outcome: 'ASKED' }),
    contact({ host: 'b.test', addresses: ['192.0.2.1'] }),
  ])
})

test('a record is no longer than its connections and its names together, and each connection is judged once', () => {
  const names = createNames()
  for (let name = 0; names.ask(`${name}.test`); name++)
    names.answer(`${name}.test`, ['192.0.2.1', `10.${(name >> 16) & 255}.${(name >> 8) & 255}.${name & 255}`])
  const connections = Array.from({ length: RECORD_LIMITS.connections }, (_, port) => tcp('192.0.2.1', port))
  let judged = 0
  const contacts = toContacts(connections, names, () => {
    judged += 1
    return false
  })
  assert.equal(judged, connections.length)
  assert.ok(contacts.length <= RECORD_LIMITS.connections + RECORD_LIMITS.names)
  assert.ok(JSON.stringify(contacts).length < 1024 * 1024)
})

test('a name that was only asked for is a contact, too', () => {
  const names = createNames()
  names.ask('secret.evil.test')
  const expected = contact({ host: 'secret.evil.test', protocol: 'dns', port: null, outcome: 'ASKED' })
  assert.deepEqual(toContacts([], names, nothingRefused), [expected])
})

test('a host is refused when all of its addresses are', () => {
  const names = createNames()
  names.answer('half.test', ['192.0.2.1', '10.0.0.1'])
  names.answer('inside.test', ['10.0.0.2'])
  const all = [tcp('192.0.2.1'), tcp('10.0.0.1'), tcp('10.0.0.2')]
  const contacts = toContacts(all, names, ({ address }) => address.startsWith('10.'))
  assert.deepEqual(
    contacts.map(({ host, isRefused }) => [host, isRefused]),
    [
      ['half.test', false],
      ['inside.test', true],
    ],
  )
})

test('there is an end to the names that are written down', () => {
  const names = createNames()
  let count = 0
  while (names.ask(`${count}.test`)) count++
  assert.equal(names.asked().length, count)
  assert.equal(names.ask('0.test'), true, 'one that is known may be asked for again')
})

test('there is an end to the characters of names, and to the addresses that have one', () => {
  const names = createNames()
  let count = 0
  while (names.ask(`${count}.${'x'.repeat(1000)}`)) count++
  assert.ok(count <= RECORD_LIMITS.nameCharacters / 1000)
  const addresses = Array.from({ length: RECORD_LIMITS.addresses + 1 }, (_, at) => `a${at}`)
  names.answer('many.test', addresses)
  assert.equal(names.of('a0'), 'many.test')
  assert.equal(names.of(addresses.at(-1) ?? ''), null)
})

test('what the predecessor did not contact is new, whatever address a host has today', () => {
  const before = [contact({ host: 'cms.test', addresses: ['192.0.2.1'] }), contact({ addresses: ['192.0.2.9'] })]
  const now = [
    contact({ host: 'cms.test', addresses: ['192.0.2.2'] }),
    contact({ host: 'cms.test', port: 80, addresses: ['192.0.2.2'] }),
    contact({ addresses: ['192.0.2.9'] }),
    contact({ addresses: ['192.0.2.10'] }),
  ]
  assert.deepEqual(
    newContacts(now, new Set(before.map(contactKey))).map(({ isNew }) => isNew),
    [false, true, false, true],
  )
  assert.ok(newContacts(now, undefined).every(({ isNew }) => !isNew))
})

test('failed, accepted and forbidden connections have different outcomes', () => {
  const names = createNames()
  names.answer('refused.test', ['192.0.2.1'])
  names.answer('silent.test', ['192.0.2.2'])
  names.answer('blocked.test', ['10.0.0.1'])
  names.answer('closed-later.test', ['192.0.2.3'])
  const calls = [
    tcp('192.0.2.1', 443, 'RESET'),
    tcp('192.0.2.2', 443, 'NONE'),
    tcp('10.0.0.1', 443, 'RESET'),
    tcp('192.0.2.3', 443, 'ACCEPTED'),
  ]
  const contacts = toContacts(calls, names, ({ address }) => address.startsWith('10.'))
  assert.deepEqual(
    contacts.map(({ host, outcome, isRefused }) => [host, outcome, isRefused]),
    [
      ['blocked.test', 'BLOCKED', true],
      ['closed-later.test', 'CONNECTED', false],
      ['refused.test', 'CONNECTION_REFUSED', false],
      ['silent.test', 'NO_ANSWER', false],
    ],
  )
})

test('of several addresses of a host, the best outcome counts', () => {
  const names = createNames()
  names.answer('half.test', ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
  const outcomeOf = (...answers: Connection['answer'][]) =>
    toContacts(
      answers.map((answer, at) => tcp(`192.0.2.${at + 1}`, 443, answer)),
      names,
      nothingRefused,
    )[0]?.outcome
  assert.equal(outcomeOf('NONE', 'ACCEPTED', 'RESET'), 'CONNECTED')
  assert.equal(outcomeOf('NONE', 'RESET'), 'CONNECTION_REFUSED')
})

test('names with and without an address have different outcomes', () => {
  const names = createNames()
  for (const name of ['gone.test', 'flaky.test', 'text-only.test']) names.ask(name)
  names.answer('gone.test', [])
  names.answer('flaky.test', [])
  names.answer('flaky.test', ['192.0.2.1'])
  assert.deepEqual(
    toContacts([], names, nothingRefused).map(({ host, outcome }) => [host, outcome]),
    [
      ['flaky.test', 'ASKED'],
      ['gone.test', 'NAME_NOT_RESOLVED'],
      ['text-only.test', 'ASKED'],
    ],
  )
})
