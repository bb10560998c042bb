/** How owners manage the users of accounts, and what users do by themselves, on the real service. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createAttempts } from '../../../src/accounts/attempts.ts'
import { createAccounts } from '../../../src/accounts/index.ts'
import { NEW_USER_LIMIT } from '../../../src/accounts/members.ts'
import { createIds, systemClock } from '../../../src/base/index.ts'
import { LIMITS, type resources } from '../../../src/contract/index.ts'
import { makeAccount } from '../../support/e2e/account.ts'
import { type ApiResponse, type Login, startService } from '../../support/service/service.ts'

const service = await startService({ after })
const owner = await service.login('owner')
await makeAccount(service, 'other')
const other = await service.login('owner', 'other')

const USERS = '/v1/accounts/default/users'

const add = (email: string, role: resources.Role = 'viewer', as: Login = owner, path = USERS): Promise<ApiResponse> =>
  service.call(path, { method: 'POST', as, body: { email, role } })

async function logIn(email: string, password: string): Promise<{ cookie: string; status: number }> {
  const { status, headers } = await service.call('/v1/session', { method: 'POST', body: { email, password } })
  return { status, cookie: headers.get('set-cookie')?.split(';')[0] ?? '' }
}

const as = (cookie: string) => ({ headers: { cookie } })

test('a new user gets a password once, logs in with it, and is listed without it', async () => {
  const made = await add('New@Example.com', 'developer')
  assert.equal(made.status, 200, made.text)
  assert.equal(made.json.email, 'new@example.com')
  assert.match(made.json.name, /^accounts\/default\/users\/[0-9a-f-]{36}$/)
  const { cookie } = await logIn('new@example.com', made.json.password)
  const session = await service.call('/v1/session', as(cookie))
  assert.deepEqual(session.json.accounts, [{ name: 'accounts/default', role: 'developer' }])

  const listed = await service.call(USERS, { as: await service.login('viewer') })
  const { password: _, ...shown } = made.json
  assert.deepEqual(listed.json.users[0], shown)
  assert.doesNotMatch(listed.text, /password/)
})

test('API access that the operator makes while the service runs is accepted at once, with its role', async () => {
  const words = ['credentials', 'create', '--account', 'default', '--role', 'viewer', '--json']
  const made: Login = JSON.parse(await service.operator(...words))
  assert.equal((await service.call(USERS, { as: made })).status, 200)
  assert.equal((await add('refused@example.com', 'viewer', made)).status, 403)
})

test('a list of users comes in pages, the newest first', async () => {
  await add('page-1@example.com')
  await add('page-2@example.com')
  const first = await service.call(`${USERS}?pageSize=1`, { as: owner })
  assert.equal(first.json.users[0].email, 'page-2@example.com')
  const second = await service.call(`${USERS}?pageSize=1&pageToken=${first.json.nextPageToken}`, { as: owner })
  assert.equal(second.json.users[0].email, 'page-1@example.com')
})

test('an invalid e-mail address is refused, and so is an unknown role', async () => {
  for (const email of [
    '',
    'not-an-address',
    'a b@c',
    'a@b@c',
    'a@\u202ec',
    'a\u0000@b',
    `${'a'.repeat(LIMITS.emailLength)}@b`,
  ]) {
    assert.equal((await add(email)).reason, 'FIELD_INVALID', JSON.stringify(email))
  }
  const refused = await service.call(USERS, { method: 'POST', as: owner, body: { email: 'a@b.c', role: 'god' } })
  assert.equal(refused.reason, 'FIELD_INVALID')
})

test('a member of the account is not added twice', async () => {
  await add('twice@example.com')
  const again = await add('TWICE@example.com', 'owner')
  assert.equal(again.status, 409)
  assert.equal(again.reason, 'USER_EXISTS')
})

const makeUser = async (email: string): Promise<string> =>
  JSON.parse(await service.operator('users', 'create', email, '--account', 'default', '--role', 'owner', '--json'))
    .password

test('a user whom the operator created joins another account once they accept, keeps the password, and shows it nothing but the address', async () => {
  const password = await makeUser('both@example.com')
  const joined = await add('both@example.com', 'viewer', other, '/v1/accounts/other/users')
  assert.equal(joined.status, 200, joined.text)
  assert.deepEqual(Object.keys(joined.json).sort(), ['createTime', 'email', 'name', 'role', 'state'])
  assert.equal(joined.json.state, 'INVITED')
  const { json } = await service.call(USERS, { as: owner })
  const here = json.users.find(({ email }: resources.User) => email === 'both@example.com')
  assert.notEqual(here.name.split('/').at(-1), joined.json.name.split('/').at(-1))

  const { cookie } = await logIn('both@example.com', password)
  const before = (await service.call('/v1/session', as(cookie))).json
  assert.deepEqual(before.accounts, [{ name: 'accounts/default', role: 'owner' }])
  assert.deepEqual(
    before.invitations.map(({ account, role, inviter }: resources.Invitation) => [account, role, inviter]),
    [['accounts/other', 'viewer', '']],
  )
  const accepted = await service.call(`/v1/${before.invitations[0].name}:accept`, { method: 'POST', ...as(cookie) })
  assert.equal(accepted.status, 200, accepted.text)
  const session = await service.call('/v1/session', as(cookie))
  assert.deepEqual(session.json, accepted.json)
  assert.deepEqual(session.json.accounts, [
    { name: 'accounts/default', role: 'owner' },
    { name: 'accounts/other', role: 'viewer' },
  ])
  assert.deepEqual(session.json.invitations, [])
})

test('an account that only invited a user does not exist for them, on any route, and a decline ends the invitation', async () => {
  const password = await makeUser('steered@example.com')
  await add('steered@example.com', 'owner', other, '/v1/accounts/other/users')
  const { cookie } = await logIn('steered@example.com', password)
  assert.deepEqual((await service.call('/v1/accounts', as(cookie))).json.accounts, [
    { name: 'accounts/default', role: 'owner' },
  ])
  for (const path of ['apps', 'users', 'credentials', 'events', 'usage'])
    assert.equal((await service.call(`/v1/accounts/other/${path}`, as(cookie))).reason, 'ACCOUNT_NOT_FOUND', path)

  const [invitation] = (await service.call('/v1/session', as(cookie))).json.invitations
  const answer = (verb: string, init: object) =>
    service.call(`/v1/${invitation.name}:${verb}`, { method: 'POST', ...init })
  const evil = { headers: { cookie, origin: 'http://evil.localhost' } }
  assert.equal((await answer('accept', evil)).reason, 'ORIGIN_REFUSED', "a tenant's page cannot accept for them")
  assert.equal((await answer('accept', { as: other })).reason, 'CREDENTIALS_REQUIRED', 'nor can a program')
  assert.equal((await answer('decline', as(cookie))).status, 200)
  assert.equal((await answer('accept', as(cookie))).reason, 'INVITATION_NOT_FOUND')
  const { json } = await service.call('/v1/accounts/other/users', { as: other })
  assert.ok(!json.users.some(({ email }: resources.User) => email === 'steered@example.com'))
})

test("an account that creates a user under a stranger's address gets no access to other accounts by it", async () => {
  const trap = await add('victim@example.com', 'viewer', other, '/v1/accounts/other/users')
  assert.equal(trap.status, 200)
  const refused = await add('victim@example.com', 'owner')
  assert.equal(refused.status, 409)
  assert.equal(refused.reason, 'USER_NOT_VOUCHED')
  const { cookie } = await logIn('victim@example.com', trap.json.password)
  assert.equal((await service.call(USERS, as(cookie))).status, 404)

  // Nor by removing the user: one without an account is deleted, together with the password.
  await service.call(`/v1/${trap.json.name}`, { method: 'DELETE', as: other })
  assert.equal((await service.call('/v1/session', as(cookie))).status, 401)
  const fresh = await add('victim@example.com', 'owner')
  assert.equal(fresh.status, 200, fresh.text)
  assert.equal((await logIn('victim@example.com', trap.json.password)).status, 401)
  assert.equal((await logIn('victim@example.com', fresh.json.password)).status, 200)
})

test('the operator verifies a user by a new password, which no account knows', async () => {
  await add('vouched@example.com')
  assert.equal(
    (await add('vouched@example.com', 'viewer', other, '/v1/accounts/other/users')).reason,
    'USER_NOT_VOUCHED',
  )
  await service.operator('users', 'reset-password', 'vouched@example.com')
  assert.equal((await add('vouched@example.com', 'viewer', other, '/v1/accounts/other/users')).status, 200)
})

test('a changed role takes effect at once', async () => {
  const made = await add('promoted@example.com', 'viewer')
  const { cookie } = await logIn('promoted@example.com', made.json.password)
  const create = () =>
    service.call('/v1/accounts/default/apps?appId=by-promoted', {
      method: 'POST',
      body: { region: 'regions/UK', uploadable: {} },
      ...as(cookie),
    })
  assert.equal((await create()).reason, 'ROLE_TOO_WEAK')
  const changed = await service.call(`/v1/${made.json.name}`, {
    method: 'PATCH',
    as: owner,
    body: { role: 'developer' },
  })
  assert.equal(changed.json.role, 'developer')
  assert.equal((await create()).status, 200)
})

test('a removed user has no access any more, with the session that is open', async () => {
  const made = await add('removed@example.com', 'owner')
  const { cookie } = await logIn('removed@example.com', made.json.password)
  assert.equal((await service.call(USERS, as(cookie))).status, 200)
  assert.equal((await service.call(`/v1/${made.json.name}`, { method: 'DELETE', as: owner })).status, 200)
  assert.equal((await service.call(USERS, as(cookie))).status, 401)
  assert.equal((await service.call(`/v1/${made.json.name}`, { method: 'DELETE', as: owner })).reason, 'USER_NOT_FOUND')
  assert.equal((await logIn('removed@example.com', made.json.password)).status, 401)
})

test('the last owner can neither be removed nor get a weaker role, not even by two concurrent calls', async () => {
  await makeAccount(service, 'few', { owner: 'first@example.com' })
  const as = await service.login('owner', 'few')
  const users = '/v1/accounts/few/users'
  const list = async (): Promise<resources.User[]> => (await service.call(users, { as })).json.users
  const [first] = await list()
  for (const method of ['DELETE', 'PATCH']) {
    const body = method === 'PATCH' ? { body: { role: 'viewer' } } : {}
    const refused = await service.call(`/v1/${first?.name}`, { method, as, ...body })
    assert.equal(refused.status, 400)
    assert.equal(refused.reason, 'LAST_OWNER')
  }
  await service.call(users, { method: 'POST', as, body: { email: 'second@example.com', role: 'owner' } })
  const answers = await Promise.all(
    (await list()).map(({ name }) => service.call(`/v1/${name}`, { method: 'DELETE', as })),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400])
  assert.deepEqual(
    (await list()).map(({ role }) => role),
    ['owner'],
  )
  // Setting the same role is no change.
  const [last] = await list()
  assert.equal((await service.call(`/v1/${last?.name}`, { method: 'PATCH', as, body: { role: 'owner' } })).status, 200)
})

/** Counts attempts to add users to an account, without adding any. */
async function takeAttempts(name: string, count: number) {
  const sql = await service.openSql()
  const parts = { sql, clock: systemClock, newId: createIds(systemClock) }
  const { id } = await createAccounts(parts).byName(name)
  const attempts = createAttempts(parts)
  for (let taken = 0; taken < count; taken++)
    await attempts.takeOne(`users of ${id}`, NEW_USER_LIMIT, 'TOO_MANY_NEW_USERS')
  await sql.close()
}

test('the number of new users is bounded', async () => {
  await makeAccount(service, 'many')
  const as = await service.login('owner', 'many')
  // As if most of them had been added: the hash of each password takes its time.
  const left = 2
  await takeAttempts('many', NEW_USER_LIMIT.burst - left)
  const addNext = (count: number) => add(`many-${count}@example.com`, 'viewer', as, '/v1/accounts/many/users')
  let added = 0
  let last = await addNext(added)
  // On a slow machine some are allowed again while others are made.
  while (last.status === 200 && added < NEW_USER_LIMIT.burst) last = await addNext(++added)
  assert.ok(added >= left, `${added} were made`)
  assert.deepEqual([last.status, last.reason], [429, 'TOO_MANY_NEW_USERS'])
  assert.ok(Number(last.headers.get('retry-after')) > 0)
})

test('log-out ends one session, log-out everywhere all of them, and no session of another user', async () => {
  const [made, neighbour] = [await add('everywhere@example.com'), await add('neighbour@example.com')]
  const open = async () => (await logIn('everywhere@example.com', made.json.password)).cookie
  const [one, two, three] = [await open(), await open(), await open()]
  const theirs = (await logIn('neighbour@example.com', neighbour.json.password)).cookie
  const works = async (cookie: string) => (await service.call('/v1/session', as(cookie))).status === 200

  await service.call('/v1/session', { method: 'DELETE', ...as(one) })
  assert.deepEqual([await works(one), await works(two), await works(three)], [false, true, true])
  const out = await service.call('/v1/session?everywhere=true', { method: 'DELETE', ...as(two) })
  assert.equal(out.status, 200)
  assert.match(out.headers.get('set-cookie') ?? '', /headland_session=;.*Max-Age=0/)
  assert.deepEqual([await works(two), await works(three), await works(theirs)], [false, false, true])
  const elsewhere = { origin: 'http://evil.localhost', cookie: theirs }
  const refused = await service.call('/v1/session?everywhere=true', { method: 'DELETE', headers: elsewhere })
  assert.equal(refused.reason, 'ORIGIN_REFUSED')
})

test('a changed password ends all other sessions; the old one is of no use any more', async () => {
  const email = 'changes@example.com'
  const { password } = (await add(email)).json
  const [mine, another] = [(await logIn(email, password)).cookie, (await logIn(email, password)).cookie]
  const change = (cookie: string, body: object) =>
    service.call('/v1/session:changePassword', { method: 'POST', body, ...as(cookie) })

  assert.equal((await change(mine, { password, newPassword: 'too short' })).reason, 'FIELD_INVALID')
  const wrong = await change(mine, { password: 'guess', newPassword: 'a long enough one' })
  assert.equal(wrong.status, 400)
  assert.equal(wrong.reason, 'PASSWORD_WRONG')
  assert.equal((await service.call('/v1/session', as(another))).status, 200)

  assert.equal((await change(mine, { password, newPassword: 'a long enough one' })).status, 200)
  assert.equal((await service.call('/v1/session', as(mine))).status, 200)
  assert.equal((await service.call('/v1/session', as(another))).status, 401)
  assert.equal((await logIn(email, password)).status, 401)
  assert.equal((await logIn(email, 'a long enough one')).status, 200)
})

test('guesses at the password of an open session are counted as log-ins', async () => {
  const email = 'guessed@example.com'
  const { password } = (await add(email)).json
  const { cookie } = await logIn(email, password)
  const guess = () =>
    service.call('/v1/session:changePassword', {
      method: 'POST',
      body: { password: 'guess', newPassword: 'a long enough one' },
      ...as(cookie),
    })
  let last = await guess()
  for (let tries = 0; tries < 20 && last.status !== 429; tries++) last = await guess()
  assert.equal(last.reason, 'TOO_MANY_LOG_INS')
})

test("neither the service's log nor an error shows a password", async () => {
  const made = await add('secret@example.com')
  await service.call('/v1/session:changePassword', {
    method: 'POST',
    body: { password: made.json.password, newPassword: 'short' },
    ...as((await logIn('secret@example.com', made.json.password)).cookie),
  })
  assert.ok(!service.log().includes(made.json.password))
})
