/** Half a megabyte of variables in each environment is allowed, and costs only requests that read them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { LIMITS } from '../contract/index.ts'
import { type Sql, toPage } from '../storage/index.ts'
import { createEnvironments } from './environments.ts'

const COUNT = 30

async function setUp(t: TestContext) {
  const modules = await openCoreModules(t)
  const { sql, accounts, apps, environments, newId } = modules
  const account = await accounts.create('ours')
  const app = await apps.create(account.id, 'shop', 'regions/UK')
  const sealed = 'x'.repeat(1000)
  const variables = Array.from({ length: LIMITS.variables }, (_, index) => ({
    kind: 'SECRET' as const,
    key: `KEY_${index}`,
    sealed,
  }))
  const draft = { displayName: 'x', branch: 'uploadable', cmsEnvironment: 'x', rootDirectory: '', variables }
  const ids = Array.from({ length: COUNT }, () => newId())
  await sql.transaction(async (tx) => {
    for (const id of ids) await environments.insert(tx, { id: app.id, accountId: account.id }, id, draft)
  })
  let bytes = 0
  const counting: Sql = {
    ...sql,
    async query(asked) {
      const rows = await sql.query(asked)
      bytes += JSON.stringify(rows).length
      return rows as never
    },
  }
  return {
    account,
    app,
    ids,
    environments: createEnvironments({ ...modules, sql: counting }),
    /** The bytes that the database returned since the last check. */
    bytesRead() {
      const read = bytes
      bytes = 0
      return read
    },
  }
}

test('a page of environments ends where their variables are many, and the pages together have all of them', async (t) => {
  const { environments, app, ids, bytesRead } = await setUp(t)
  const found: string[] = []
  let pages = 0
  for (let pageToken = ''; pages === 0 || pageToken !== ''; pages++) {
    const page = await environments.list(app.id, toPage({ pageSize: 200, order: 'oldest', pageToken }))
    assert.ok(bytesRead() < 4_000_000, 'one page is small enough to be parsed in one go')
    assert.ok(page.items.length > 0)
    found.push(...page.items.map(({ id }) => id))
    pageToken = page.nextPageToken
  }
  assert.deepEqual(found, ids)
  assert.ok(pages > 5)
})

test('who does not ask for the variables does not get them', async (t) => {
  const { environments, account, ids, bytesRead } = await setUp(t)
  const [id = ''] = ids
  assert.equal(await environments.ownerOf(id), account.id)
  const head = await environments.require(account.id, 'shop', id)
  assert.equal('variables' in head, false)
  assert.ok(bytesRead() < 2000)
  assert.equal((await environments.requireWhole(account.id, 'shop', id)).variables.length, LIMITS.variables)
})
