/** The list of environments of all apps, by the route handler on a real database that counts statements. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environmentRoutes } from '../../src/api/routes/environments.ts'
import { createApps, createDomains, createEnvironments, createVariables } from '../../src/apps/index.ts'
import { createBuilds, createSources, readArchives } from '../../src/builds/index.ts'
import { Problem, type resources } from '../../src/contract/index.ts'
import { createDeployments, createRetries, type Pins, type Requests } from '../../src/deployments/index.ts'
import { createOperations } from '../../src/operations/index.ts'
import { type Sql, statement, type Vault } from '../../src/storage/index.ts'
import type { Scope } from '../support/folder.ts'
import { openCoreModules } from '../support/modules/core.ts'
import { OF_SQLITE } from '../support/postgres/databases.ts'

type Listed = { environments: resources.Environment[]; nextPageToken: string }
type Asked = { pageSize?: number; pageToken?: string; orderBy?: string }

const PATH = '/v1/accounts/{account}/apps/-/environments'
const DRAFT = {
  displayName: 'Production',
  branch: 'uploadable',
  cmsEnvironment: 'cms',
  rootDirectory: '',
  variables: [],
}

async function start(t: Scope) {
  const modules = await openCoreModules(t)
  let statements = 0
  const sql: Sql = {
    ...modules.sql,
    query(asked) {
      statements++
      return modules.sql.query(asked)
    },
  }
  const parts = { sql, clock: modules.clock, newId: modules.newId, notifyBelow: modules.notifyBelow }
  const [apps, environments] = [createApps(parts), createEnvironments(parts)]
  const operations = createOperations({ ...parts, readDescriptions: readArchives })
  const builds = createBuilds({ ...parts, requestersOf: operations.requestersOf })
  const routes = environmentRoutes({
    apps,
    environments,
    operations,
    builds,
    sources: createSources(parts),
    pins: {} as Pins,
    domains: createDomains({ ...parts, domain: 'sites.test' }),
    variables: createVariables({ vault: {} as Vault }),
    deployments: createDeployments({ ...parts, builds, operations }),
    requests: {} as Requests,
    retries: createRetries({ ...parts, intervalMs: 1000 }),
    siteUrl: (label) => `http://${label}.sites.test`,
  })
  const found = routes.find(({ method, path }) => method === 'GET' && path === PATH)
  assert.ok(found, 'the route exists')

  async function makeEnvironment(
    account: { id: string },
    app: { id: string; name: string },
    displayName = 'Production',
  ) {
    const id = environments.newId()
    const path = { accountId: account.id, appName: app.name, environmentId: id }
    await sql.transaction(async (tx) => {
      await environments.insert(tx, { id: app.id, accountId: account.id }, id, { ...DRAFT, displayName })
      await operations.record(tx, {
        path,
        trigger: 'CREATE',
        requestedBy: null,
        finish: async () => ({ response: {} }),
      })
    })
    return path
  }

  return {
    ...modules,
    apps,
    builds,
    operations,
    environments,
    makeEnvironment,
    async makeApp(account: { id: string }, name: string) {
      return apps.create(account.id, name, 'regions/UK')
    },
    /** The answer, and how many statements it took. */
    async ask(account: { id: string; name: string }, query: Asked = {}) {
      statements = 0
      const answer = (await found.handle({ account, query } as never)) as Listed
      return { ...answer, statements }
    },
  }
}

test('a page of 200 environments in 100 apps takes as many statements as a page of one', async (t) => {
  const { accounts, makeApp, makeEnvironment, ask } = await start(t)
  const account = await accounts.create('ours')
  const first = await makeEnvironment(account, await makeApp(account, 'app-0'))
  const one = await ask(account, { pageSize: 200 })
  assert.deepEqual(
    one.environments.map(({ name }) => name),
    [`accounts/ours/apps/app-0/environments/${first.environmentId}`],
  )
  for (let app = 1; app <= 100; app++) {
    const made = await makeApp(account, `app-${app}`)
    for (let count = 0; count < 2; count++) await makeEnvironment(account, made)
  }
  const many = await ask(account, { pageSize: 200 })
  assert.equal(many.environments.length, 200)
  assert.equal(many.statements, one.statements)
  assert.ok(many.statements <= 9, `${many.statements} statements`)
})

test('over all pages each environment is listed once, whatever is created in between', async (t) => {
  const { accounts, makeApp, makeEnvironment, ask } = await start(t)
  const account = await accounts.create('ours')
  const apps = [await makeApp(account, 'a'), await makeApp(account, 'b')] as const
  const made: string[] = []
  for (let count = 0; count < 7; count++)
    made.push((await makeEnvironment(account, apps[count % 2] as (typeof apps)[0])).environmentId)
  const seen: string[] = []
  let pageToken = ''
  for (let pages = 0; pages < 10; pages++) {
    const page = await ask(account, { pageSize: 2, ...(pageToken ? { pageToken } : {}) })
    seen.push(...page.environments.map(({ name }) => name.slice(-36)))
    pageToken = page.nextPageToken
    if (!pageToken) break
    await makeEnvironment(account, apps[0])
  }
  assert.deepEqual(seen, made.toReversed())
})

test('a token is good for the account and the order that it was made for, and for no other list', async (t) => {
  const { accounts, makeApp, makeEnvironment, ask } = await start(t)
  const [ours, theirs] = [await accounts.create('ours'), await accounts.create('theirs')]
  for (const account of [ours, theirs]) {
    const app = await makeApp(account, 'a')
    for (let count = 0; count < 3; count++) await makeEnvironment(account, app)
  }
  const { nextPageToken: pageToken } = await ask(ours, { pageSize: 1 })
  assert.equal((await ask(ours, { pageSize: 1, pageToken })).environments.length, 1)
  const refused = (problem: unknown) => problem instanceof Problem && problem.reason === 'PAGE_TOKEN_INVALID'
  await assert.rejects(ask(theirs, { pageSize: 1, pageToken }), refused)
  await assert.rejects(ask(ours, { pageSize: 1, pageToken, orderBy: 'createTime' }), refused)
  const ofAnother = Buffer.from(`newest ${'0'.repeat(36)}`).toString('base64url')
  await assert.rejects(ask(ours, { pageToken: ofAnother }), refused)
})

test('only environments of the account are listed, and none of an app that is deleted', async (t) => {
  const { accounts, makeApp, makeEnvironment, ask, apps, sql } = await start(t)
  const [ours, theirs] = [await accounts.create('ours'), await accounts.create('theirs')]
  await makeEnvironment(theirs, await makeApp(theirs, 'a'))
  const [kept, gone] = [await makeApp(ours, 'a'), await makeApp(ours, 'gone')]
  const { environmentId } = await makeEnvironment(ours, kept)
  await makeEnvironment(ours, gone)
  await sql.transaction((tx) => apps.hide(tx, gone.id))
  const { environments } = await ask(ours)
  assert.deepEqual(
    environments.map(({ name }) => name),
    [`accounts/ours/apps/a/environments/${environmentId}`],
  )
})

test('an environment shows its latest build, and the operation that decides its state', async (t) => {
  const { accounts, makeApp, makeEnvironment, ask, sql, operations, builds } = await start(t)
  const account = await accounts.create('ours')
  const path = await makeEnvironment(account, await makeApp(account, 'a'))
  const shown = async () => (await ask(account)).environments[0] as resources.Environment
  assert.equal((await shown()).latestOperation?.trigger, 'CREATE')
  assert.equal((await shown()).latestBuild, undefined)

  const build = builds.newId()
  await sql.transaction(async (tx) => {
    const failure = { error: new Problem('BUILD_SCRIPT_FAILED', 'It said "reason":"SUPERSEDED".') }
    const failed = await operations.record(tx, {
      path,
      trigger: 'UPLOAD',
      requestedBy: null,
      finish: async () => failure,
    })
    const archive = { digest: `sha256-${'0'.repeat(64)}` as never, bytes: 1, files: 1 }
    await builds.insert(tx, path, { id: build, operationId: failed.id, trigger: 'UPLOAD', isClean: false, archive })
  })
  // Operations that change nothing do not hide it: purges, and cancelled work.
  await sql.transaction(async (tx) => {
    for (let count = 0; count < 30; count++)
      await operations.record(tx, {
        path,
        trigger: 'PURGE_CACHE',
        requestedBy: null,
        finish: async () => ({ response: {} }),
      })
    for (const reason of ['SUPERSEDED', 'OPERATION_CANCELLED'] as const)
      await operations.record(tx, {
        path,
        trigger: 'REBUILD',
        requestedBy: null,
        finish: async () => ({ error: new Problem(reason) }),
      })
  })
  const { latestOperation, latestBuild } = await shown()
  assert.equal(latestOperation?.reason, 'BUILD_SCRIPT_FAILED')
  assert.equal(latestOperation?.trigger, 'UPLOAD')
  assert.equal(latestBuild?.name, `accounts/ours/apps/a/environments/${path.environmentId}/builds/${build}`)
  assert.equal(latestBuild?.state, 'QUEUED')

  const running = await sql.transaction((tx) => operations.request(tx, path, 'UPDATE'))
  const { latestOperation: now } = await shown()
  assert.deepEqual([now?.name.slice(-36), now?.done, now?.reason], [running.id, false, undefined])
})

test('the latest operation is found by an index that has no purges', OF_SQLITE, async (t) => {
  const { sql } = await start(t)
  const plan = await sql.query<{ detail: string }>(statement`
    EXPLAIN QUERY PLAN SELECT o.id FROM operations o
    WHERE o.environment_id = 'e' AND o.trigger_name <> 'PURGE_CACHE' ORDER BY o.id DESC LIMIT 20`)
  assert.match(plan.map(({ detail }) => detail).join('\n'), /SEARCH o USING INDEX operations_of_work/)
})
