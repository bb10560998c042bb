import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import type { Scope } from '../../test/support/folder.ts'
import { migratedSql } from '../../test/support/sql.ts'
import { createIds } from '../base/index.ts'
import { LIMITS } from '../contract/index.ts'
import { type Sql, statement, toPage } from '../storage/index.ts'
import { type Audited, auditing, withAudit } from './auditing.ts'
import { type AuditFilter, createAuditLog } from './log.ts'
import { createAuditPruning } from './pruning.ts'

const ANN = { kind: 'USER', name: 'ann@example.com' } as const

async function open(t: Scope) {
  const bare = await migratedSql(t)
  const clock = handClock()
  const newId = createIds(clock)
  const sql = withAudit(bare, { clock, newId })
  const log = createAuditLog({ sql })
  const [accountId, other] = [newId(), newId()]
  for (const [id, name] of [
    [accountId, 'ours'],
    [other, 'theirs'],
  ]) {
    await bare.transaction((tx) =>
      tx.query(statement`INSERT INTO accounts (id, name, create_time) VALUES (${id as string}, ${name as string}, 1)`),
    )
  }
  const audited: Audited = {
    accountId,
    action: 'CHANGE_ENVIRONMENT',
    resource: 'apps/shop/environments/e',
    fields: ['displayName'],
    by: ANN,
    way: 'API',
    address: '192.0.2.1',
  }
  /** A change that can be seen: the account has another name. */
  const change = (name: string, { notifies = true, of = accountId } = {}) =>
    sql.transaction(async (tx) => {
      await tx.query(statement`UPDATE accounts SET name = ${name} WHERE id = ${of}`)
      if (notifies) tx.notify(of, 'apps/shop/environments/e', { title: 'Production' })
    })
  const list = async (filter: AuditFilter = {}, of = accountId) => (await log.list(of, filter, toPage({}))).items
  const nameNow = async () =>
    (await bare.query<{ name: string }>(statement`SELECT name FROM accounts WHERE id = ${accountId}`))[0]?.name
  return { bare, sql, clock, newId, log, accountId, other, audited, change, list, nameNow }
}

test('the event says who did what to which resource, and is in the log of that account only', async (t) => {
  const { audited, accountId, other, change, list, clock } = await open(t)
  await auditing(audited, () => change('renamed'))
  const [event, ...more] = await list()
  assert.deepEqual(more, [])
  const { id, ...rest } = event ?? { id: '' }
  assert.match(id, /^[0-9a-f-]{36}$/)
  assert.deepEqual(rest, { ...audited, accountId, title: 'Production', time: clock.now() })
  assert.deepEqual(await list({}, other), [])
})

test('a change whose event cannot be written is not made', async (t) => {
  const { bare, clock, newId, audited, accountId, list, nameNow } = await open(t)
  // The insert fails as on a full disk, after all statements of the change were done.
  const failing: Sql = {
    ...bare,
    transaction: (work, options) =>
      bare.transaction(
        (tx) =>
          work({
            ...tx,
            query: (asked) =>
              asked.texts[0]?.includes('INSERT INTO audit_events')
                ? Promise.reject(new Error('full'))
                : tx.query(asked),
          }),
        options,
      ),
  }
  const sql = withAudit(failing, { clock, newId })
  const changed = auditing(audited, () =>
    sql.transaction(async (tx) => {
      await tx.query(statement`UPDATE accounts SET name = 'renamed' WHERE id = ${accountId}`)
      tx.notify(accountId, 'apps/shop')
    }),
  )
  await assert.rejects(changed, /full/)
  assert.deepEqual([await nameNow(), await list()], ['ours', []])
})

test('a change that is refused in its transaction leaves no event, and neither does one that changes nothing', async (t) => {
  const { sql, audited, accountId, change, list, nameNow } = await open(t)
  const refused = auditing(audited, () =>
    sql.transaction(async (tx) => {
      tx.notify(accountId, 'apps/shop')
      await tx.query(statement`UPDATE accounts SET name = 'renamed' WHERE id = ${accountId}`)
      throw new Error('refused')
    }),
  )
  await assert.rejects(refused, /refused/)
  await auditing(audited, () => change('ours', { notifies: false }))
  await auditing(audited, async () => 'no transaction')
  assert.deepEqual([await nameNow(), await list()], ['ours', []])
})

test('a request that fails after its change was committed has its event', async (t) => {
  const { audited, change, list, nameNow } = await open(t)
  const failed = auditing(audited, async () => {
    await change('renamed')
    throw new Error('the edge does not answer')
  })
  await assert.rejects(failed, /edge/)
  assert.deepEqual([await nameNow(), (await list()).length], ['renamed', 1])
})

test('a request has one event, however many transactions it needs and however many run at once', async (t) => {
  const { audited, change, list } = await open(t)
  await auditing(audited, async () => {
    await change('first', { notifies: false })
    await Promise.all([change('second'), change('third')])
    await change('fourth')
  })
  assert.equal((await list()).length, 1)
})

test('work that goes on after the answer writes no event', async (t) => {
  const { audited, change, list } = await open(t)
  const goOn = Promise.withResolvers<void>()
  const later = await auditing(audited, async () => ({ done: goOn.promise.then(() => change('later')) }))
  goOn.resolve()
  await later.done
  assert.deepEqual(await list(), [])
})

test('without an account, the event is in the log of every account that is changed', async (t) => {
  const { sql, accountId, other, list } = await open(t)
  await auditing({ action: 'LOG_IN', by: ANN, way: 'PORTAL' }, () =>
    sql.transaction(async (tx) => {
      tx.notify('a hint between processes', 'x')
      tx.notify(accountId, 'users/1', { title: ANN.name })
      tx.notify(other, 'users/2', { title: ANN.name })
    }),
  )
  const shown = await Promise.all([accountId, other].map((id) => list({}, id)))
  assert.deepEqual(
    shown.map(([event]) => [event?.action, event?.resource, event?.title]),
    [
      ['LOG_IN', 'users/1', ANN.name],
      ['LOG_IN', 'users/2', ANN.name],
    ],
  )
})

test('what is added to a list is named by the change, and parts of a field by their own names', async (t) => {
  const { sql, audited, accountId, list } = await open(t)
  const named = (resource: string, fields: string[], ...changes: [string, { title?: string; fields?: string[] }?][]) =>
    auditing({ ...audited, resource, fields }, () =>
      sql.transaction(async (tx) => {
        for (const [name, about] of changes) tx.notify(accountId, name, about)
      }),
    )
  await named('apps', ['region'], ['apps/Shop'])
  await named(
    'apps/SHOP/environments',
    [],
    ['apps/Shop/environments/e/operations/o'],
    ['apps/Shop/environments/e', { title: 'Live' }],
  )
  await named(
    'apps/shop/environments/e',
    ['production', 'shellVariables'],
    ['apps/Shop/environments/e', { title: 'Live', fields: ['shellVariables.A', 'shellVariables.B'] }],
  )
  await named('apps/shop/environments/e/webhooks', [], ['apps/Shop/environments/e/webhooks', { title: 'Live' }])
  await named('apps/shop', [], ['apps/shop/environments/e', { title: 'Live' }], ['apps/shop'])
  const shown = (await list()).toReversed().map(({ resource, title, fields }) => [resource, title, fields.join(' ')])
  assert.deepEqual(shown, [
    ['apps/Shop', '', 'region'],
    ['apps/Shop/environments/e', 'Live', ''],
    ['apps/Shop/environments/e', 'Live', 'production shellVariables.A shellVariables.B'],
    ['apps/Shop/environments/e/webhooks', 'Live', ''],
    ['apps/shop', '', ''],
  ])
})

test('what a tenant chooses is bounded in a row', async (t) => {
  const { sql, audited, accountId, list } = await open(t)
  const fields = Array.from({ length: 500 }, (_, index) => `shellVariables.${index}${'k'.repeat(300)}`)
  await auditing({ ...audited, fields: ['shellVariables'] }, () =>
    sql.transaction(async (tx) =>
      tx.notify(accountId, 'apps/shop/environments/e', { title: '😀'.repeat(5000), fields }),
    ),
  )
  const [event] = await list()
  assert.equal(event?.fields.length, LIMITS.auditFields + 1)
  assert.equal(event?.fields.at(-1), '…')
  assert.ok(event?.fields.every((field) => field.length <= LIMITS.auditFieldLength))
  assert.equal(event?.title.length, LIMITS.auditTitleLength)
})

test('events are found by action, person, resource with what is below it, and time', async (t) => {
  const { audited, change, list, clock } = await open(t)
  const start = clock.now()
  const given: Partial<Audited>[] = [
    { action: 'DELETE_APP', resource: 'apps/shop' },
    { by: { kind: 'CREDENTIAL', name: 'ci' } },
    { resource: 'apps/shopping/environments/f' },
  ]
  for (const one of given) {
    await auditing({ ...audited, ...one }, () => change('renamed'))
    await clock.advance(1000)
  }
  const found = async (filter: AuditFilter) => (await list(filter)).map(({ time }) => (time - start) / 1000)
  assert.deepEqual(await found({ action: 'DELETE_APP' }), [0])
  assert.deepEqual(await found({ by: 'CI' }), [1])
  assert.deepEqual([await found({ by: 'n@ex' }), await found({ by: '%' }), await found({ by: '_' })], [[2, 0], [], []])
  assert.deepEqual(await found({ resource: 'apps/shop' }), [1, 0])
  assert.deepEqual(await found({ start: start + 1000, end: start + 2000 }), [1])
  assert.deepEqual(await found({ by: 'ci', action: 'DELETE_APP' }), [])
})

test('the newest events stay, and routine does not push out the rest', async (t) => {
  const { bare, clock, newId, accountId, other, list } = await open(t)
  const { round } = createAuditPruning({ sql: bare, clock, log: { error: assert.fail } as never })
  const add = (action: string, count: number, of = accountId) =>
    bare.transaction((tx) =>
      Promise.all(
        Array.from({ length: count }, () =>
          tx.query(statement`
            INSERT INTO audit_events (id, account_id, action, resource, title, fields, by_kind, by_name, way, address, create_time)
            VALUES (${newId()}, ${of}, ${action}, '', '', '[]', 'USER', 'x', 'API', '', ${clock.now()})`),
        ),
      ),
    )
  const count = async () =>
    Object.fromEntries(
      (
        await bare.query<{ action: string; n: number }>(
          statement`SELECT action, COUNT(*) AS n FROM audit_events WHERE account_id = ${accountId} GROUP BY action`,
        )
      ).map(({ action, n }) => [action, n]),
    )
  await add('CREATE_CREDENTIAL', 1)
  await add('PURGE_CACHE', LIMITS.auditRoutineKept + 700)
  await add('DELETE_APP', 1, other)
  const term = { check: async () => undefined }
  await round(term)
  assert.deepEqual(await count(), { CREATE_CREDENTIAL: 1, PURGE_CACHE: LIMITS.auditRoutineKept })

  await clock.advance(LIMITS.auditDays * 24 * 60 * 60_000)
  await add('DELETE_APP', 1)
  await clock.advance(1)
  await round(term)
  assert.deepEqual(await count(), { DELETE_APP: 1 })
  assert.equal((await list({}, other)).length, 0)
})
