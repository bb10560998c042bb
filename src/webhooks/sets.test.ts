import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import { createAccounts } from '../accounts/index.ts'
import { createEnvironments } from '../apps/index.ts'
import { type Sql, statement } from '../storage/index.ts'
import { createWebhookSets } from './sets.ts'

async function open(t: Scope) {
  const modules = await openModules(t)
  const { id, appName } = await modules.environment()
  let queries = 0
  const sql: Sql = {
    ...modules.sql,
    query: (asked) => {
      queries++
      return modules.sql.query(asked)
    },
  }
  const sets = createWebhookSets({
    ...modules,
    sql,
    accounts: createAccounts({ ...modules, sql }),
    environments: createEnvironments({ ...modules, sql }),
  })
  const at = { account: modules.account.name, app: appName, environment: id }
  return { ...modules, sets, id, at, queries: () => queries }
}

test('three tokens, none of which is in the database', async (t) => {
  const { sets, id, sql } = await open(t)
  const { tokens } = await sets.create(id)
  const shown = Object.values(tokens).map((token) => token.reveal())
  assert.equal(new Set(shown).size, 3)
  const rows = JSON.stringify(await sql.query(statement`SELECT * FROM webhook_sets`))
  for (const token of shown) {
    assert.match(token, /^[\w-]{43}$/)
    assert.ok(!rows.includes(token))
  }
  assert.doesNotMatch(JSON.stringify(tokens), /[\w-]{20}/)
})

test("a token opens its own action of its own environment, in whichever case the app's name is written", async (t) => {
  const { sets, id, at, account } = await open(t)
  const { tokens } = await sets.create(id)
  for (const [action, token] of Object.entries(tokens)) {
    const opened = await sets.open({ ...at, app: at.app.toUpperCase() }, action, token.reveal())
    assert.deepEqual([opened?.environmentId, opened?.account, opened?.appName], [id, account, at.app])
    for (const other of Object.keys(tokens)) {
      if (other !== action) assert.equal(await sets.open(at, other, token.reveal()), undefined)
    }
  }
})

test('a set is made once, and what was regenerated or removed opens nothing', async (t) => {
  const { sets, id, at, sql } = await open(t)
  const first = await sets.create(id)
  await assert.rejects(sets.create(id), { reason: 'WEBHOOKS_EXIST' })
  const before = await sets.open(at, 'rebuild', first.tokens.rebuild.reveal())
  const second = await sets.regenerate(id)
  const after = await sets.open(at, 'rebuild', second.tokens.rebuild.reveal())
  assert.equal(await sets.open(at, 'rebuild', first.tokens.rebuild.reveal()), undefined)
  await assert.rejects(sets.requireCurrent(sql, id, before?.generation ?? ''), { reason: 'WEBHOOK_REFUSED' })
  await sets.requireCurrent(sql, id, after?.generation ?? '')
  await sets.remove(id)
  assert.equal(await sets.open(at, 'rebuild', second.tokens.rebuild.reveal()), undefined)
  await assert.rejects(sets.requireCurrent(sql, id, after?.generation ?? ''), { reason: 'WEBHOOK_REFUSED' })
  for (const attempt of [sets.remove, sets.regenerate, sets.require, (gone: string) => sets.change(gone, {})]) {
    await assert.rejects(attempt(id), { reason: 'WEBHOOKS_NOT_FOUND' })
  }
})

test('no webhooks can be made or opened for an environment that is being deleted or does not exist', async (t) => {
  const { sets, id, at, sql, environments, environment, newId } = await open(t)
  const { tokens } = await sets.create(id)
  await sql.transaction((tx) => environments.markDeleting(tx, id))
  assert.equal(await sets.open(at, 'rebuild', tokens.rebuild.reveal()), undefined)
  const other = await environment()
  await sql.transaction((tx) => environments.markDeleting(tx, other.id))
  await assert.rejects(sets.create(other.id), { reason: 'ENVIRONMENT_DELETING' })
  await assert.rejects(sets.create(newId()), { reason: 'ENVIRONMENT_NOT_FOUND' })
})

test('whatever is wrong, the same queries and the same comparison are made', async (t) => {
  const { sets, id, at, queries, newId } = await open(t)
  const { tokens } = await sets.create(id)
  const right = tokens.rebuild.reveal()
  const compared: number[][] = []
  const { timingSafeEqual } = crypto
  t.after(() => {
    crypto.timingSafeEqual = timingSafeEqual
    syncBuiltinESMExports()
  })
  crypto.timingSafeEqual = (left, right) => {
    compared.push([left.byteLength, right.byteLength])
    return timingSafeEqual(left, right)
  }
  syncBuiltinESMExports()

  const attempts: [typeof at, string, string][] = [
    [at, 'rebuild', right],
    [at, 'rebuild', 'wrong'],
    [at, 'rebuild', ''],
    [at, 'rebuild', 'x'.repeat(10_000)],
    [at, 'purgeCache', right],
    [at, 'publish', right],
    [at, 'publish', ''],
    [at, 'constructor', right],
    [{ ...at, environment: newId() }, 'rebuild', right],
    [{ ...at, environment: newId() }, 'rebuild', ''],
    [{ ...at, app: 'another' }, 'rebuild', right],
    [{ ...at, account: 'another' }, 'rebuild', right],
    [{ account: '\0', app: '\u{1F4A9}', environment: '' }, '', '\0'],
  ]
  for (const [index, attempt] of attempts.entries()) {
    const before = queries()
    const opened = await sets.open(...attempt)
    assert.equal(opened !== undefined, index === 0)
    assert.equal(queries() - before, 3)
    assert.deepEqual(compared.splice(0), [[43, 43]], JSON.stringify(attempt))
  }
})

test('a quiet period is changed as far as it is given, and must make sense', async (t) => {
  const { sets, id } = await open(t)
  await sets.create(id)
  await assert.rejects(sets.change(id, { quietSeconds: 61 }), { reason: 'FIELD_INVALID' })
  await sets.change(id, { quietSeconds: 60 })
  await assert.rejects(sets.change(id, { maxQuietSeconds: 59 }), { reason: 'FIELD_INVALID' })
  await sets.change(id, { maxQuietSeconds: 600 })
  const { quietSeconds, maxQuietSeconds } = await sets.require(id)
  assert.deepEqual([quietSeconds, maxQuietSeconds], [60, 600])
  const { quietSeconds: kept } = await sets.regenerate(id)
  assert.equal(kept, 60)
})
