/** One account cannot block the queue that all accounts share. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../../test/support/folder.ts'
import { openModules } from '../../../test/support/modules/deployments.ts'
import type { Account } from '../../accounts/index.ts'
import { createVariables, type Environment } from '../../apps/index.ts'
import { LIMITS } from '../../contract/index.ts'
import { statement } from '../../storage/index.ts'
import type { Asked } from '../../triggers/index.ts'
import { createRequests } from './request.ts'
import { createBuildRequests } from './request-build.ts'

async function open(t: Scope, { maxEnvironments = 0 } = {}) {
  const modules = await openModules(t)
  const vault = {
    seal: (text: string) => text,
    open: (text: string) => text,
    derive: (text: string) => text,
    keyId: '',
  }
  const requests = createRequests({
    ...modules,
    variables: createVariables({ vault }),
    buildRequests: createBuildRequests(modules),
    routing: { touch: async () => undefined },
    maxEnvironments,
  })
  const { account, clock, sql } = modules
  const asked: Asked[] = [
    { action: 'REBUILD', source: 'WEBHOOK', requestedBy: null, address: '', userAgent: '', time: clock.now() },
  ]
  return {
    ...modules,
    requests,
    upload: async ({ appName, id }: Environment, of: Account = account) =>
      requests.upload({ account: of, appName, environmentId: id }, await modules.archiveOf('zip')),
    rebuild: ({ appName, id }: Environment, of: Account = account) =>
      requests.rebuild({ account: of, appName, environmentId: id }, { asked }),
    unfinished: async (): Promise<number> => {
      const rows = await sql.query(statement`SELECT id FROM operations WHERE done_time IS NULL`)
      return rows.length
    },
  }
}

test('an upload, a rebuild and a webhook are taken, however many builds of another account wait', async (t) => {
  const { accounts, account, environment, sql, operations, newId, upload, rebuild, finish } = await open(t)
  const [other, theirs] = [await accounts.create('other'), await environment()]
  await sql.transaction(async (tx) => {
    for (let count = 0; count < 1003; count++) {
      const path = { accountId: account.id, appName: 'app', environmentId: newId() }
      await operations.request(tx, path, 'UPLOAD', { queue: 'build', build: newId() })
    }
  })
  const mine = await environment(other)
  const uploaded = await upload(mine, other)
  await finish(uploaded.id)
  const rebuilt = await rebuild(mine, other)
  assert.equal(rebuilt.trigger, 'REBUILD')
  // Their own environments are not refused either: each has one build that waits, and no more.
  assert.ok(await upload(theirs))
})

test('uploads that are cancelled one after another, or replaced, leave one operation at most', async (t) => {
  const { environment, account, requests, upload, rebuild, unfinished, builds, sql } = await open(t)
  const at = await environment()
  const path = { accountId: account.id, appName: at.appName, environmentId: at.id }
  for (let times = 0; times < 20; times++) {
    const operation = await upload(at)
    if (times % 3 === 0) await upload(at)
    else await requests.cancel(path, operation.id)
    if (times % 5 === 0) await rebuild(at)
    assert.ok((await unfinished()) <= 2)
    const waiting = (await builds.ofOperation(sql, operation.id))?.state
    assert.equal(waiting, 'CANCELLED')
  }
})

test('a build that no worker has begun ends at once when it is cancelled, with the operations that it was to satisfy', async (t) => {
  const { environment, account, requests, upload, rebuild, finish, operations, unfinished } = await open(t)
  const at = await environment()
  const path = { accountId: account.id, appName: at.appName, environmentId: at.id }
  await finish((await upload(at)).id)
  const waiting = await rebuild(at)
  const newer = await upload(at)
  await requests.cancel(path, newer.id)
  for (const { id } of [waiting, newer]) {
    const { error, doneTime } = await operations.require(path, id)
    assert.deepEqual([error?.details[0]?.reason, doneTime === null], ['OPERATION_CANCELLED', false])
  }
  assert.equal(await unfinished(), 0)
})

test('an environment is deleted without waiting for the turn of its build', async (t) => {
  const { environment, account, requests, upload, operations, sql } = await open(t)
  const at = await environment()
  await upload(at)
  const { id } = await requests.deleteEnvironment({ account, appName: at.appName, environmentId: at.id })
  const left = await operations.unfinishedOf(sql, at.id)
  assert.deepEqual(
    left.map((operation) => operation.id),
    [id],
  )
})

test('the number of waiting changes of one environment is limited', async (t) => {
  const { environment, account, requests } = await open(t)
  const [at, elsewhere] = [await environment(), await environment()]
  const change = ({ appName, id }: Environment) =>
    requests.updateEnvironment(
      { account, appName, environmentId: id },
      { given: { displayName: 'another' }, mask: ['displayName'] },
    )
  for (let times = 0; times < LIMITS.changesWaiting; times++) await change(at)
  await assert.rejects(change(at), { reason: 'TOO_MANY_CHANGES', retryAfterSeconds: 10 })
  assert.ok(await change(elsewhere))
  assert.ok(await requests.deleteEnvironment({ account, appName: at.appName, environmentId: at.id }))
})

test('the number of environments of an account is limited, and a deletion makes a new one possible', async (t) => {
  const { accounts, apps, account, requests, environments, sql } = await open(t, { maxEnvironments: 3 })
  const other = await accounts.create('other')
  for (const { id } of [account, other]) await apps.create(id, 'shop', 'regions/UK')
  const draft = { displayName: 'x', branch: 'uploadable', cmsEnvironment: 'x' } as const
  const create = (of: Account) => requests.createEnvironment(of, 'shop', draft)
  const [first] = await Promise.all([create(account), create(account), create(account)])
  await assert.rejects(create(account), {
    reason: 'ACCOUNT_LIMIT',
    metadata: { kind: 'ENVIRONMENTS', limit: '3', setting: 'accountEnvironments' },
  })
  assert.equal(await environments.count(account.id), 3)
  assert.ok(await create(other))
  await requests.deleteEnvironment({ account, appName: 'shop', environmentId: first.environmentId })
  await assert.rejects(create(account), { reason: 'ACCOUNT_LIMIT' }, 'it is there until everything of it is gone')
  await sql.transaction((tx) => environments.remove(tx, first.environmentId))
  assert.ok(await create(account))
})

test('an account that creates many environments at once gets as many as the limit allows', async (t) => {
  const { apps, account, requests, environments } = await open(t, { maxEnvironments: 5 })
  await apps.create(account.id, 'shop', 'regions/UK')
  const draft = { displayName: 'x', branch: 'uploadable', cmsEnvironment: 'x' } as const
  const asked = Array.from({ length: 20 }, () => requests.createEnvironment(account, 'shop', draft))
  const made = (await Promise.allSettled(asked)).filter(({ status }) => status === 'fulfilled')
  assert.deepEqual([made.length, await environments.count(account.id)], [5, 5])
})
