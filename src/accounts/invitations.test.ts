import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { quickPasswordHash } from '../../test/support/quick-password.ts'
import { statement, toPage } from '../storage/index.ts'

type Scope = Parameters<typeof openCoreModules>[0]
type Modules = Awaited<ReturnType<typeof openCoreModules>>

/** The rows of a new user and a new account, without the slow hash of a password that no test enters. */
async function insertUser(
  { sql, accounts, newId }: Modules,
  { email, account, role }: { email: string; account: string; role: string },
) {
  const id = newId()
  await sql.transaction(async (tx) => {
    const { id: accountId } = await accounts.add(tx, account)
    await tx.query(statement`
      INSERT INTO users (id, email, password_hash, create_time) VALUES (${id}, ${email}, ${quickPasswordHash('x')}, 0)`)
    await tx.query(statement`
      INSERT INTO memberships (user_id, account_id, role, id, create_time)
      VALUES (${id}, ${accountId}, ${role}, ${newId()}, 0)`)
  })
}

/** The user Ann, made by the operator in `home`, and the account `other` with an owner of its own. */
async function withAnn(t: Scope) {
  const modules = await openCoreModules(t)
  await insertUser(modules, { email: 'ann@example.com', account: 'home', role: 'developer' })
  await insertUser(modules, { email: 'owner@example.com', account: 'other', role: 'owner' })
  const other = await modules.accounts.byName('other')
  const idOf = async (email: string): Promise<string> => {
    const [row] = await modules.sql.query<{ id: string }>(statement`SELECT id FROM users WHERE email = ${email}`)
    return row?.id ?? ''
  }
  const accountsOf = async (email: string): Promise<string[]> =>
    (await modules.users.memberships(await idOf(email))).map(({ account }) => account.name)
  const invite = (role: 'viewer' | 'owner' = 'viewer', email = 'ann@example.com') =>
    modules.members.add(other.id, { email, role, inviter: 'owner@example.com' })
  return { ...modules, other, idOf, accountsOf, invite, ann: await idOf('ann@example.com') }
}

test('an existing user belongs to another account only after accepting', async (t) => {
  const { invite, invitations, members, accountsOf, other, ann } = await withAnn(t)
  const { member, password } = await invite('owner')
  assert.deepEqual([member.state, password], ['INVITED', undefined])
  assert.deepEqual(await accountsOf('ann@example.com'), ['home'])

  const [invitation] = await invitations.ofUser(ann)
  assert.deepEqual(
    [invitation?.id, invitation?.account.name, invitation?.role, invitation?.inviter],
    [member.id, 'other', 'owner', 'owner@example.com'],
  )
  await invitations.accept(ann, member.id)
  assert.deepEqual(await accountsOf('ann@example.com'), ['home', 'other'])
  assert.deepEqual(await invitations.ofUser(ann), [])
  const { items } = await members.list(other.id, toPage({}))
  assert.deepEqual(
    items.find(({ id }) => id === member.id),
    { ...member, state: 'ACTIVE' },
    'under the same id',
  )
})

test('a declined invitation leaves nothing, and neither does one that is withdrawn', async (t) => {
  const { invite, invitations, members, accountsOf, other, ann } = await withAnn(t)
  const gone = { reason: 'INVITATION_NOT_FOUND' }
  const { member } = await invite()
  await invitations.decline(ann, member.id)
  await assert.rejects(invitations.accept(ann, member.id), gone)

  const second = await invite()
  await members.remove(other.id, second.member.id)
  await assert.rejects(invitations.accept(ann, second.member.id), gone)
  assert.deepEqual(await accountsOf('ann@example.com'), ['home'])
})

test('no user can answer the invitation of another', async (t) => {
  const { invite, invitations, idOf, accountsOf, ann } = await withAnn(t)
  const { member } = await invite()
  const owner = await idOf('owner@example.com')
  for (const answer of [invitations.accept, invitations.decline])
    await assert.rejects(answer(owner, member.id), { reason: 'INVITATION_NOT_FOUND' })
  assert.equal((await invitations.ofUser(ann)).length, 1)
  assert.deepEqual(await accountsOf('owner@example.com'), ['other'])
})

test('an invited owner is no owner yet: the last one stays', async (t) => {
  const { invite, members, other } = await withAnn(t)
  await invite('owner')
  const owner = (await members.list(other.id, toPage({}))).items.find(({ email }) => email === 'owner@example.com')
  await assert.rejects(members.remove(other.id, owner?.id ?? ''), { reason: 'LAST_OWNER' })
  await assert.rejects(members.setRole(other.id, owner?.id ?? '', 'viewer'), { reason: 'LAST_OWNER' })
})

test('the role of an invitation can be changed, and is the one that is accepted', async (t) => {
  const { invite, members, invitations, users, other, ann } = await withAnn(t)
  const { member } = await invite('owner')
  assert.equal((await members.setRole(other.id, member.id, 'viewer')).state, 'INVITED')
  await invitations.accept(ann, member.id)
  const roles = (await users.memberships(ann)).map(({ account, role }) => [account.name, role])
  assert.deepEqual(roles, [
    ['home', 'developer'],
    ['other', 'viewer'],
  ])
})

test('no user is invited twice, nor while being a member', async (t) => {
  const { invite, invitations, ann } = await withAnn(t)
  const { member } = await invite()
  await assert.rejects(invite(), { reason: 'USER_EXISTS', message: /has not answered yet/ })
  await invitations.accept(ann, member.id)
  await assert.rejects(invite(), { reason: 'USER_EXISTS', message: /belongs to the account already/ })
})

test('a user is removed with the last membership or the last invitation', async (t) => {
  const { invite, invitations, members, accounts, idOf, ann } = await withAnn(t)
  const home = await accounts.byName('home')
  const { member } = await invite()
  const mine = (await members.list(home.id, toPage({}))).items.find(({ email }) => email === 'ann@example.com')
  await members.remove(home.id, mine?.id ?? '')
  assert.equal(await idOf('ann@example.com'), ann, 'an open invitation keeps the user')
  await invitations.decline(ann, member.id)
  assert.equal(await idOf('ann@example.com'), '')
})

test('an account that made a user must invite that user again after the operator has reset the password', async (t) => {
  const { invite, invitations, users, accountsOf, idOf } = await withAnn(t)
  const { member, password } = await invite('viewer', 'victim@example.com')
  assert.ok(password, 'the account made the user, and needs no consent')
  assert.deepEqual(await accountsOf('victim@example.com'), ['other'])

  await users.resetPassword('victim@example.com')
  assert.deepEqual(await accountsOf('victim@example.com'), [])
  const victim = await idOf('victim@example.com')
  assert.deepEqual(
    (await invitations.ofUser(victim)).map(({ id, account }) => [id, account.name]),
    [[member.id, 'other']],
  )
  await invitations.accept(victim, member.id)
  // It was accepted: a new password does not undo that.
  await users.resetPassword('victim@example.com')
  assert.deepEqual(await accountsOf('victim@example.com'), ['other'])
})

test('what the operator does needs no answer, and ends an open invitation', async (t) => {
  const { invite, invitations, users, accountsOf, ann } = await withAnn(t)
  await invite()
  await users.create('ann@example.com', 'other', 'developer')
  assert.deepEqual(await accountsOf('ann@example.com'), ['home', 'other'])
  assert.deepEqual(await invitations.ofUser(ann), [])
})
