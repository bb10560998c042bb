import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Connection, type Contact, createNames, newContacts, toContacts } from './contacts.ts'

const nothingRefused = () => false
const tcp = (address: string, port = 443): Connection => ({ address, protocol: 'tcp', port })
const contact = (given: Partial<Contact>): Contact => ({
  host: null,
  protocol: 'tcp',
  port: 443,
  addresses: [],
  isRefused: false,
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

test('every name that led to an address counts as contacted', () => {
  const names = createNames()
  for (const name of ['a.test', 'b.test']) {
    names.ask(name)
    names.answer(name, ['192.0.2.1'])
  }
  const contacts = toContacts([tcp('192.0.2.1')], names, nothingRefused)
  assert.deepEqual(
    contacts.map(({ host }) => host),
    ['a.test', 'b.test'],
  )
})

test('a name that was only asked for is a contact, too', () => {
  const names = createNames()
  names.ask('secret.evil.test')
  const expected = contact({ host: 'secret.evil.test', protocol: 'dns', port: null })
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

test('what the predecessor did not contact is new, whatever address a host has today', () => {
  const before = [contact({ host: 'cms.test', addresses: ['192.0.2.1'] }), contact({ addresses: ['192.0.2.9'] })]
  const now = [
    contact({ host: 'cms.test', addresses: ['192.0.2.2'] }),
    contact({ host: 'cms.test', port: 80, addresses: ['192.0.2.2'] }),
    contact({ addresses: ['192.0.2.9'] }),
    contact({ addresses: ['192.0.2.10'] }),
  ]
  assert.deepEqual(
    newContacts(now, before).map(({ isNew }) => isNew),
    [false, true, false, true],
  )
  assert.ok(newContacts(now, undefined).every(({ isNew }) => !isNew))
})
