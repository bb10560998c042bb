import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AttemptLimit, createAttempts, LOG_IN_LIMITS } from '../../src/accounts/attempts.ts'
import { createKnownNetworks, KNOWN_NETWORKS } from '../../src/accounts/known-networks.ts'
import { SESSION_MS } from '../../src/accounts/sessions.ts'
import { randomToken } from '../../src/base/index.ts'
import { statement } from '../../src/storage/index.ts'
import { openCoreModules } from '../support/modules/core.ts'
import { quickPasswordHash } from '../support/quick-password.ts'

async function withOwner(t: Parameters<typeof openCoreModules>[0]) {
  const modules = await openCoreModules(t)
  const made = await modules.users.create('Owner@Example.com', 'agency', 'owner', { makeAccount: true })
  return { ...modules, password: made.password?.reveal() ?? '' }
}

/** The same, with a password that is compared in no time. Its hash is as quick to make, so the rows are written here. */
async function withQuickOwner(t: Parameters<typeof openCoreModules>[0]) {
  const modules = await openCoreModules(t)
  const { sql, clock, newId, accounts } = modules
  const [user, password, { id: account }] = [newId(), randomToken(), await accounts.create('agency')]
  await sql.transaction(async (tx) => {
    await tx.query(statement`INSERT INTO users (id, email, password_hash, create_time)
      VALUES (${user}, ${'owner@example.com'}, ${quickPasswordHash(password)}, ${clock.now()})`)
    await tx.query(statement`INSERT INTO memberships (user_id, account_id, role, id, create_time)
      VALUES (${user}, ${account}, ${'owner'}, ${newId()}, ${clock.now()})`)
  })
  return { ...modules, password }
}

test('a user logs in whatever the case of the address, and the session knows them', async (t) => {
  const { sessions, password } = await withOwner(t)
  const { token } = await sessions.logIn('owner@EXAMPLE.com', password, '127.0.0.1')
  assert.equal((await sessions.find(token.reveal()))?.user.email, 'owner@example.com')
  assert.equal(await sessions.find('something else'), undefined)
})

test('a wrong password and an unknown user get the same answer', async (t) => {
  const { sessions } = await withQuickOwner(t)
  const refusal = { reason: 'LOG_IN_FAILED', message: 'The e-mail address and the password do not belong together.' }
  await assert.rejects(sessions.logIn('owner@example.com', 'wrong', '127.0.0.1'), refusal)
  await assert.rejects(sessions.logIn('unknown@example.com', 'wrong', '127.0.0.1'), refusal)
})

test('a session ends by logging out, with its time, and with a reset of the password', async (t) => {
  const { sessions, users, clock, password } = await withQuickOwner(t)
  const logIn = async (secret: string) =>
    (await sessions.logIn('owner@example.com', secret, '127.0.0.1')).token.reveal()

  const out = await logIn(password)
  await sessions.logOut(out)
  assert.equal(await sessions.find(out), undefined)

  const old = await logIn(password)
  await clock.advance(SESSION_MS)
  assert.equal(await sessions.find(old), undefined)

  const before = await logIn(password)
  const { password: next } = await users.resetPassword('owner@example.com')
  assert.equal(await sessions.find(before), undefined)
  await assert.rejects(logIn(password), { reason: 'LOG_IN_FAILED' })
  await logIn(next.reveal())
})

test('guesses at one user from one network are refused after the burst, and allowed again with time', async (t) => {
  const { sessions, clock, password } = await withQuickOwner(t)
  const guess = () => sessions.logIn('owner@example.com', 'wrong', '10.0.0.1').catch((error) => error)
  const together = await Promise.all(Array.from({ length: 5 }, guess))
  for (let times = 5; times < LOG_IN_LIMITS.guesses.burst; times++) together.push(await guess())
  assert.ok(together.every(({ reason }) => reason === 'LOG_IN_FAILED'))
  const refused = await guess()
  assert.equal(refused.reason, 'TOO_MANY_LOG_INS')
  assert.ok(refused.retryAfterSeconds > 0)

  await clock.advance(LOG_IN_LIMITS.guesses.intervalMs)
  await sessions.logIn('owner@example.com', password, '10.0.0.1')
})

test('wrong guesses from one network do not lock out the owner on another network', async (t) => {
  const { sessions, password } = await withQuickOwner(t)
  for (let times = 0; times <= LOG_IN_LIMITS.guesses.burst; times++)
    await assert.rejects(sessions.logIn('owner@example.com', 'wrong', '203.0.113.9'))
  await sessions.logIn('owner@example.com', password, '198.51.100.7')
})

/** Records so many attempts directly: a hundred slow hashes would prove no more. */
async function exhaust(
  { sql, clock }: Pick<Awaited<ReturnType<typeof openCoreModules>>, 'sql' | 'clock'>,
  subject: string,
  { burst, intervalMs }: AttemptLimit,
) {
  const paidUntil = clock.now() + burst * intervalMs
  await sql.transaction((tx) =>
    tx.query(statement`INSERT INTO log_in_attempts (subject, paid_until) VALUES (${subject}, ${paidUntil})
      ON CONFLICT (subject) DO UPDATE SET paid_until = ${paidUntil}`),
  )
}

test('many machines have a bounded number of guesses at one user, who can still log in from a known network', async (t) => {
  const modules = await withQuickOwner(t)
  const { sessions, password, clock } = modules
  const home = '2001:db8:1:2::1'
  await sessions.logIn('owner@example.com', password, home)
  await exhaust(modules, 'user owner@example.com', LOG_IN_LIMITS.user)
  for (const stranger of ['203.0.113.1', '203.0.113.2', '2001:db8:1:3::1'])
    await assert.rejects(sessions.logIn('owner@example.com', password, stranger), { reason: 'TOO_MANY_LOG_INS' })

  // From another address of the same /64, as a device gets a new one every day.
  await sessions.logIn('owner@example.com', password, '2001:db8:1:2:aaaa::9')
  // Guesses from the known network are still counted there.
  for (let times = 0; times < LOG_IN_LIMITS.guesses.burst; times++)
    await assert.rejects(sessions.logIn('owner@example.com', 'wrong', home), { reason: 'LOG_IN_FAILED' })
  await assert.rejects(sessions.logIn('owner@example.com', 'wrong', home), { reason: 'TOO_MANY_LOG_INS' })

  await clock.advance(LOG_IN_LIMITS.user.intervalMs)
  await assert.rejects(sessions.logIn('owner@example.com', 'wrong', '203.0.113.3'), { reason: 'LOG_IN_FAILED' })
  await assert.rejects(sessions.logIn('owner@example.com', 'wrong', '203.0.113.4'), { reason: 'TOO_MANY_LOG_INS' })
})

test('a network is unknown again after a new password, and when it was not used for long', async (t) => {
  const modules = await withQuickOwner(t)
  const { sessions, users, clock, password } = modules
  await sessions.logIn('owner@example.com', password, '198.51.100.7')
  const { password: next } = await users.resetPassword('owner@example.com')
  await exhaust(modules, 'user owner@example.com', LOG_IN_LIMITS.user)
  const refusal = { reason: 'TOO_MANY_LOG_INS' }
  await assert.rejects(sessions.logIn('owner@example.com', next.reveal(), '198.51.100.7'), refusal)

  await clock.advance(LOG_IN_LIMITS.user.intervalMs)
  await sessions.logIn('owner@example.com', next.reveal(), '198.51.100.7')
  await clock.advance(KNOWN_NETWORKS.keptMs)
  await exhaust(modules, 'user owner@example.com', LOG_IN_LIMITS.user)
  await assert.rejects(sessions.logIn('owner@example.com', next.reveal(), '198.51.100.7'), refusal)
})

test('of the networks of a user only the latest are known', async (t) => {
  const { sql, clock, sessions, password } = await withQuickOwner(t)
  const { session } = await sessions.logIn('owner@example.com', password, '10.0.0.0')
  const networks = createKnownNetworks({ sql, clock })
  for (let index = 1; index <= KNOWN_NETWORKS.perUser; index++) {
    await clock.advance(1)
    await sql.transaction((tx) => networks.remember(tx, session.user.id, `10.0.0.${index}`))
  }
  assert.equal(await networks.isKnown('owner@example.com', '10.0.0.0'), false)
  assert.equal(await networks.isKnown('owner@example.com', '10.0.0.1'), true)
  assert.equal((await sql.query(statement`SELECT * FROM known_networks`)).length, KNOWN_NETWORKS.perUser)
})

test('all addresses of one IPv6 network count as one, and so do both forms of an IPv4 address', async (t) => {
  const modules = await withQuickOwner(t)
  await exhaust(modules, 'network 2001:db8:9:9::/64', LOG_IN_LIMITS.network)
  await exhaust(modules, 'network 10.9.9.9', LOG_IN_LIMITS.network)
  const { sessions } = modules
  for (const address of ['2001:db8:9:9::1', '2001:DB8:9:9:ffff::2', '10.9.9.9', '::ffff:10.9.9.9', '::ffff:a09:909'])
    await assert.rejects(sessions.logIn('a@example.com', 'x', address), { reason: 'TOO_MANY_LOG_INS' }, address)
  for (const address of ['2001:db8:9:8::1', '10.9.9.8'])
    await assert.rejects(sessions.logIn('a@example.com', 'x', address), { reason: 'LOG_IN_FAILED' }, address)
})

test('no made-up e-mail address is counted as another user', async (t) => {
  const { sql, clock } = await openCoreModules(t)
  const { take } = createAttempts({ sql, clock })
  const made = [
    'owner@example.com',
    'x owner@example.com',
    'guesses 10.0.0.1 owner@example.com',
    'user owner@example.com',
  ]
  for (const email of made) await take({ email, network: '10.0.0.1', isKnown: false })
  const rows = await sql.query(statement`SELECT subject FROM log_in_attempts`)
  assert.equal(rows.length, 1 + 2 * made.length)
})

test('a correct password resets the attempts of its user from that network, and from no other', async (t) => {
  const { sessions, password } = await withQuickOwner(t)
  const guess = (address: string) => sessions.logIn('owner@example.com', 'wrong', address)
  for (const address of ['10.1.0.1', '10.1.0.2'])
    for (let tries = 1; tries < LOG_IN_LIMITS.guesses.burst; tries++) await assert.rejects(guess(address))
  await sessions.logIn('owner@example.com', password, '10.1.0.1')
  for (let tries = 0; tries < 2; tries++) await assert.rejects(guess('10.1.0.1'), { reason: 'LOG_IN_FAILED' })
  await assert.rejects(guess('10.1.0.2'), { reason: 'LOG_IN_FAILED' })
  await assert.rejects(guess('10.1.0.2'), { reason: 'TOO_MANY_LOG_INS' })
})

test('guesses at the password of an open session are counted from any network', async (t) => {
  const { sessions, password } = await withQuickOwner(t)
  const { token, session } = await sessions.logIn('owner@example.com', password, '10.0.0.1')
  const mine = { token: token.reveal(), user: session.user }
  const guess = (index: number) =>
    sessions.changePassword(mine, { password: 'guess', newPassword: 'a long enough one' }, `10.3.0.${index}`)
  for (let index = 0; index < LOG_IN_LIMITS.guesses.burst; index++)
    await assert.rejects(guess(index), { reason: 'PASSWORD_WRONG' })
  await assert.rejects(guess(99), { reason: 'TOO_MANY_LOG_INS' })
})

test('neither a password nor a session token is in the database', async (t) => {
  const { sessions, sql, password } = await withQuickOwner(t)
  const { token } = await sessions.logIn('owner@example.com', password, '127.0.0.1')
  const rows = JSON.stringify([
    await sql.query(statement`SELECT * FROM users`),
    await sql.query(statement`SELECT * FROM sessions`),
  ])
  assert.ok(!rows.includes(password) && !rows.includes(token.reveal()))
})

test('a user who joins a second account keeps the password and has a role in each', async (t) => {
  const { users, accounts, sessions, password } = await withQuickOwner(t)
  await accounts.create('second')
  assert.equal((await users.create('owner@example.com', 'second', 'viewer')).password, undefined)
  const { session } = await sessions.logIn('owner@example.com', password, '127.0.0.1')
  const roles = (await users.memberships(session.user.id)).map(({ account, role }) => [account.name, role])
  assert.deepEqual(roles, [
    ['agency', 'owner'],
    ['second', 'viewer'],
  ])
  await assert.rejects(users.create('owner@example.com', 'second', 'viewer'), { reason: 'USER_EXISTS' })
})

test('a log-in that began before a change of the password opens no session', async (t) => {
  const { sessions, users, password } = await withQuickOwner(t)
  const { token, session } = await sessions.logIn('owner@example.com', password, '127.0.0.1')
  const mine = { token: token.reveal(), user: session.user }
  // Hashes are computed one at a time: that of the log-in comes last, long after the old password was read.
  const reset = users.resetPassword('owner@example.com')
  const late = sessions.logIn('owner@example.com', password, '127.0.0.1')
  const refused = assert.rejects(late, { reason: 'LOG_IN_FAILED' })
  await reset
  await refused
  assert.equal(await sessions.find(mine.token), undefined)
})

test('of two concurrent changes of a password, one takes effect', async (t) => {
  const { sessions, password } = await withQuickOwner(t)
  const { token, session } = await sessions.logIn('owner@example.com', password, '127.0.0.1')
  const mine = { token: token.reveal(), user: session.user }
  const change = (newPassword: string) => sessions.changePassword(mine, { password, newPassword }, '127.0.0.1')
  const both = await Promise.allSettled([change('the first of them'), change('the second of them')])
  const failed = both.filter((one) => one.status === 'rejected')
  assert.deepEqual(
    failed.map(({ reason }) => reason.reason),
    ['PASSWORD_WRONG'],
  )
})
