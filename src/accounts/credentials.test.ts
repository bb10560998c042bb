import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { statement, toPage } from '../storage/index.ts'

test('an issued credential is known with its account, role and name; a wrong password and a wrong id are not', async (t) => {
  const { accounts, credentials } = await openCoreModules(t)
  const account = await accounts.create('agency')
  const { credential, password } = await credentials.issue(account.id, { role: 'viewer', displayName: 'CI' })
  const known = { account, role: 'viewer', displayName: 'CI' }
  assert.deepEqual(await credentials.verify(credential.id, password.reveal()), known)
  assert.equal(await credentials.verify(credential.id, `${password.reveal()}x`), undefined)
  assert.equal(await credentials.verify(account.id, password.reveal()), undefined)
})

test('a generated password has at least 160 bits and is stored as a digest only', async (t) => {
  const { accounts, credentials, sql } = await openCoreModules(t)
  const account = await accounts.create('agency')
  const { password } = await credentials.issue(account.id, { role: 'owner', displayName: 'CI' })
  assert.ok(Buffer.from(password.reveal(), 'base64url').length * 8 >= 160)
  const rows = JSON.stringify(await sql.query(statement`SELECT * FROM credentials`))
  assert.ok(!rows.includes(password.reveal()))
})

test('a revoked credential is unknown at once, and only its own account can revoke it', async (t) => {
  const { accounts, credentials } = await openCoreModules(t)
  const [mine, other] = [await accounts.create('mine'), await accounts.create('other')]
  const { credential, password } = await credentials.issue(mine.id, { role: 'owner', displayName: 'CI' })
  await assert.rejects(credentials.revoke(other.id, credential.id), { reason: 'CREDENTIAL_NOT_FOUND' })
  await credentials.revoke(mine.id, credential.id)
  assert.equal(await credentials.verify(credential.id, password.reveal()), undefined)
})

test('a list shows the credentials of one account, newest first, a page at a time', async (t) => {
  const { accounts, credentials } = await openCoreModules(t)
  const [mine, other] = [await accounts.create('mine'), await accounts.create('other')]
  const ids: string[] = []
  for (const displayName of ['a', 'b', 'c']) {
    ids.unshift((await credentials.issue(mine.id, { role: 'owner', displayName })).credential.id)
    await credentials.issue(other.id, { role: 'owner', displayName })
  }
  const first = await credentials.list(mine.id, toPage({ pageSize: 2 }))
  const second = await credentials.list(mine.id, toPage({ pageSize: 2, pageToken: first.nextPageToken }))
  assert.deepEqual(
    [...first.items, ...second.items].map(({ id }) => id),
    ids,
  )
  assert.equal(second.nextPageToken, '')
})

test('an account has so many credentials, and another one when one is revoked', async (t) => {
  const { accounts, credentials } = await openCoreModules(t)
  const [mine, other] = [await accounts.create('mine'), await accounts.create('other')]
  const issue = (of = mine) => credentials.issue(of.id, { role: 'owner', displayName: 'CI', max: 2 })
  const asked = await Promise.allSettled([issue(), issue(), issue()])
  assert.deepEqual(asked.map(({ status }) => status).toSorted(), ['fulfilled', 'fulfilled', 'rejected'])
  await assert.rejects(issue(), {
    reason: 'ACCOUNT_LIMIT',
    metadata: { kind: 'CREDENTIALS', limit: '2', setting: 'accountCredentials' },
  })
  assert.ok(await issue(other))
  const [first] = (await credentials.list(mine.id, toPage({}))).items
  await credentials.revoke(mine.id, first?.id ?? '')
  assert.ok(await issue())
})
