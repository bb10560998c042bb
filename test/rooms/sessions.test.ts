import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOG_IN_LIMITS } from '../../src/accounts/attempts.ts'
import { SESSION_MS } from '../../src/accounts/sessions.ts'
import { statement } from '../../src/storage/index.ts'
import { lowerRooms } from '../support/parts.ts'

async function withOwner(t: Parameters<typeof lowerRooms>[0]) {
  const rooms = await lowerRooms(t)
  const made = await rooms.users.create('Owner@Example.com', 'agency', 'owner', { makeAccount: true })
  return { ...rooms, password: made.password?.reveal() ?? '' }
}

test('a user logs in whatever the case of the address, and the session knows them', async (t) => {
  const { sessions, password } = await withOwner(t)
  const { token } = await sessions.logIn('owner@EXAMPLE.com', password, '127.0.0.1')
  assert.equal((await sessions.find(token.reveal()))?.user.email, 'owner@example.com')
  assert.equal(await sessions.find('something else'), undefined)
})

test('a wrong password and an unknown user get the same answer', async (t) => {
  const { sessions } = await withOwner(t)
  const refusal = { reason: 'LOG_IN_FAILED', message: 'The e-mail address and the password do not belong together.' }
  await assert.rejects(sessions.logIn('owner@example.com', 'wrong', '127.0.0.1'), refusal)
  await assert.rejects(sessions.logIn('nobody@example.com', 'wrong', '127.0.0.1'), refusal)
})

test('a session ends by logging out, with its time, and with a reset of the password', async (t) => {
  const { sessions, users, clock, password } = await withOwner(t)
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

test('guesses at one user are refused after the burst, all at once or one by one, and allowed again with time', async (t) => {
  const { sessions, clock, password } = await withOwner(t)
  const guess = (index: number) =>
    sessions.logIn('owner@example.com', 'wrong', `10.0.0.${index}`).catch((error) => error)
  const answers = await Promise.all(Array.from({ length: LOG_IN_LIMITS.user.burst + 5 }, (_, index) => guess(index)))
  const refused = answers.filter(({ reason }) => reason === 'TOO_MANY_LOG_INS')
  assert.equal(refused.length, 5)
  assert.ok(refused.every(({ retryAfterSeconds }) => retryAfterSeconds > 0))

  await clock.advance(LOG_IN_LIMITS.user.intervalMs)
  await sessions.logIn('owner@example.com', password, '10.0.0.1')
})

test('one address that tries many users is refused, and other addresses are not', async (t) => {
  const { sessions, sql, clock } = await withOwner(t)
  // As if the address had used up its burst already: thirty slow hashes would prove no more.
  const paidUntil = clock.now() + LOG_IN_LIMITS.address.burst * LOG_IN_LIMITS.address.intervalMs
  await sql.transaction((tx) =>
    tx.query(statement`INSERT INTO log_in_attempts (subject, paid_until) VALUES (${'address 10.9.9.9'}, ${paidUntil})`),
  )
  await assert.rejects(sessions.logIn('a@example.com', 'x', '10.9.9.9'), { reason: 'TOO_MANY_LOG_INS' })
  await assert.rejects(sessions.logIn('a@example.com', 'x', '10.9.9.8'), { reason: 'LOG_IN_FAILED' })
})

test('a right password gives its user the attempts back', async (t) => {
  const { sessions, password } = await withOwner(t)
  for (let round = 0; round < 2; round++) {
    for (let tries = 0; tries < LOG_IN_LIMITS.user.burst - 1; tries++) {
      await assert.rejects(sessions.logIn('owner@example.com', 'wrong', `10.1.${round}.${tries}`))
    }
    await sessions.logIn('owner@example.com', password, '10.2.0.1')
  }
})

test('neither a password nor a session token is in the database', async (t) => {
  const { sessions, sql, password } = await withOwner(t)
  const { token } = await sessions.logIn('owner@example.com', password, '127.0.0.1')
  const rows = JSON.stringify([
    await sql.query(statement`SELECT * FROM users`),
    await sql.query(statement`SELECT * FROM sessions`),
  ])
  assert.ok(!rows.includes(password) && !rows.includes(token.reveal()))
})

test('a user who joins a second account keeps the password and has a role in each', async (t) => {
  const { users, accounts, sessions, password } = await withOwner(t)
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

test('a log-in that was under way while the password was changed opens no session', async (t) => {
  const { sessions, users, password } = await withOwner(t)
  const { token, session } = await sessions.logIn('owner@example.com', password, '127.0.0.1')
  const mine = { token: token.reveal(), user: session.user }
  // Hashes are made one at a time: the log-in's comes last, long after the old password was read.
  const reset = users.resetPassword('owner@example.com')
  const late = sessions.logIn('owner@example.com', password, '127.0.0.1')
  const refused = assert.rejects(late, { reason: 'LOG_IN_FAILED' })
  await reset
  await refused
  assert.equal(await sessions.find(mine.token), undefined)
})

test('of two changes of a password at once, one holds', async (t) => {
  const { sessions, password } = await withOwner(t)
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
