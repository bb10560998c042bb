import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseUrlWithoutPassword, parseDatabaseAddress } from './database-address.ts'

test('every part of the address is read, with its escapes', () => {
  const address = parseDatabaseAddress('postgres://us%40er:p%2Fw%3A@db.example.com:6543/my%20db?sslmode=require')
  assert.deepEqual(
    [address.user, address.password, address.hosts, address.database, address.tls],
    ['us@er', 'p/w:', [{ host: 'db.example.com', port: 6543 }], 'my db', 'require'],
  )
})

test('on this machine TLS is off by default, elsewhere the certificate is checked', () => {
  const modeOf = (text: string) => parseDatabaseAddress(text).tls
  assert.equal(modeOf('postgres://u@localhost/d'), 'disable')
  assert.equal(modeOf('postgres://u@127.0.0.1/d'), 'disable')
  assert.equal(modeOf('postgres://u@[::1]/d'), 'disable')
  assert.equal(modeOf('postgres://u:p@/d?host=/run/postgresql'), 'disable')
  assert.equal(modeOf('postgresql://u@10.0.0.1/d'), 'verify-full')
})

test('a Unix socket is named by its folder', () => {
  const address = parseDatabaseAddress('postgres://u@/d?host=/run/postgresql')
  assert.deepEqual(address.hosts, [{ host: '/run/postgresql', port: 5432 }])
})

test('an address may have several hosts, each with a port', () => {
  const address = parseDatabaseAddress('postgres://u:p@a:1,[::1],c/d?target_session_attrs=read-write')
  assert.deepEqual(address.hosts, [
    { host: 'a', port: 1 },
    { host: '::1', port: 5432 },
    { host: 'c', port: 5432 },
  ])
  assert.equal(address.tls, 'verify-full')
})

for (const [what, text] of [
  ['another scheme', 'mysql://u:topsecret@h/d'],
  ['no user', 'postgres://h/topsecret'],
  ['no database', 'postgres://u:topsecret@h'],
  ['an unknown sslmode', 'postgres://u:topsecret@h/d?sslmode=prefer'],
  ['an unknown parameter', 'postgres://u:topsecret@h/d?sslmod=disable'],
  ['a host that only reads', 'postgres://u:topsecret@h,i/d?target_session_attrs=standby'],
  ['a port that is none', 'postgres://u:topsecret@h:1,i:port/d'],
  ['a broken escape', 'postgres://u:topsecret%zz@h/d'],
  ['no address', 'topsecret'],
] as const) {
  test(`${what} is refused by a message that shows no part of the address`, () => {
    assert.throws(
      () => parseDatabaseAddress(text),
      ({ message }: Error) => /^its? /.test(message) && !message.includes('topsecret'),
    )
  })
}

test('for people the address is written without its password', () => {
  const shown = (text: string) => databaseUrlWithoutPassword(parseDatabaseAddress(text))
  assert.equal(shown('postgres://u:pw@db.example.com/d'), 'postgres://u@db.example.com:5432/d?sslmode=verify-full')
  assert.equal(shown('postgres://u:pw@/d?host=/run/pg'), 'postgres://u@localhost:5432/d?host=/run/pg')
  assert.equal(shown('postgres://u:pw@[::1]:1/d'), 'postgres://u@[::1]:1/d?sslmode=disable')
  assert.equal(
    shown('postgres://u:pw@a,b:1/d'),
    'postgres://u@a:5432,b:1/d?sslmode=verify-full&target_session_attrs=read-write',
  )
})
