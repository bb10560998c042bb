/** Previews on a real database, with a clock that the test moves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../../test/support/folder.ts'
import { LEADING } from '../../test/support/leading.ts'
import { openModules } from '../../test/support/modules/deployments.ts'
import type { Environment } from '../apps/index.ts'
import { allVariables } from '../apps/index.ts'
import { Problem, type Reason, type resources } from '../contract/index.ts'
import { createBuildRequests, createRequests } from '../deployments/index.ts'
import { LeadershipLost } from '../storage/index.ts'
import { createPreviews } from './previews.ts'
import { createPreviewRemoval } from './removal.ts'

const DAY_MS = 24 * 60 * 60_000
const NO_REQUESTER = null

async function open(t: Scope) {
  const modules = await openModules(t)
  const { sql, environments, account, operations, previewRecords } = modules
  const routing = { touch: environments.touchRoutes, publish: async () => undefined }
  const requests = createRequests({ ...modules, routing, buildRequests: createBuildRequests(modules) })
  const previews = createPreviews({ ...modules, records: previewRecords, requests, routing, maxEnvironments: 0 })
  const app = await modules.apps.create(account.id, 'shop', 'regions/UK')
  const visits = new Map<string, number>()
  const removal = { ...modules, records: previewRecords, requests, lastVisits: async () => visits, term: LEADING }

  async function finishAll({ id }: Pick<Environment, 'id'>) {
    for (const operation of await operations.unfinishedOf(sql, id)) await modules.finish(operation.id)
  }

  return {
    ...modules,
    app,
    visits,
    removal,
    finishAll,
    round: createPreviewRemoval(removal).round,
    at: ({ id }: Pick<Environment, 'id'>) => ({ account, appName: 'shop', environmentId: id }),
    preview: (branch: string) => previews.open(account, 'shop', branch, NO_REQUESTER),
    settings: (given: resources.ChangedPreviewSettings) =>
      previews.changeSettings(account, 'shop', { given, preconditions: [] }),
    async make(displayName: string, more: Partial<resources.NewEnvironment> = {}) {
      const given = { displayName, branch: 'uploadable', cmsEnvironment: 'blog', ...more }
      const { environmentId } = await requests.createEnvironment(account, 'shop', given)
      await finishAll({ id: environmentId })
      return (await environments.byId(sql, environmentId)) as Environment
    },
    change: async (of: Environment, given: resources.ChangedEnvironment) => {
      const mask = Object.keys(given) as never
      await requests.updateEnvironment({ account, appName: 'shop', environmentId: of.id }, { given, mask })
      await finishAll(of)
    },
    read: async ({ id }: Environment) => environments.byId(sql, id),
    /** What a build of it gets. */
    async variablesOf(of: Environment) {
      const current = (await environments.byId(sql, of.id)) as Environment
      const fresh = await previewRecords.refresh(current)
      return Object.fromEntries(
        modules.variables.open(of.id, allVariables(fresh)).map(({ key, value }) => [key, value]),
      )
    },
  }
}

const refusedWith = (reason: Reason) => (error: unknown) => error instanceof Problem && error.reason === reason

test('deployments of one new branch at the same time share one preview, with an address at once', async (t) => {
  const { make, preview } = await open(t)
  await make('Production', { production: true })
  const made = await Promise.all(['a', 'b', 'a', 'a', 'b'].map((branch) => preview(branch)))
  assert.equal(new Set(made.map(({ id }) => id)).size, 2)
  const [first] = made
  assert.match(first?.hostLabel ?? '', /^shop-a-/)
  assert.deepEqual([first?.displayName, first?.branch, first?.isProduction], ['a', 'a', false])
})

test('a preview that is made again has the address that it had', async (t) => {
  const { make, preview, sql, environments } = await open(t)
  await make('Production')
  const before = await preview('feature/x')
  await sql.transaction((tx) => environments.remove(tx, before.id))
  const after = await preview('feature/x')
  assert.notEqual(after.id, before.id)
  assert.equal(after.hostLabel, before.hostLabel)
})

test('when the app has as many previews as it may have, the refusal names the one that was idle for longest', async (t) => {
  const { make, preview, settings, clock } = await open(t)
  await make('Production')
  await settings({ maxCount: 2 })
  await preview('one')
  await clock.advance(1000)
  await preview('two')
  await clock.advance(1000)
  await preview('one')
  await assert.rejects(
    preview('three'),
    (error) => refusedWith('PREVIEW_LIMIT')(error) && /\btwo was idle/.test(String(error)),
  )
  await settings({ enabled: false })
  await assert.rejects(preview('three'), refusedWith('PREVIEWS_DISABLED'))
  assert.equal((await preview('two')).displayName, 'two')
})

test('an app without an environment has no previews', async (t) => {
  await assert.rejects((await open(t)).preview('main'), refusedWith('PREVIEW_WITHOUT_ENVIRONMENT'))
})

test('each build of a preview gets the variables as they are then, secrets only where that is set, and its own ones win', async (t) => {
  const { make, preview, change, settings, variablesOf, read } = await open(t)
  const secret = { key: 'TOKEN', kind: 'SECRET', value: 's3cret' } as const
  const plain = (value: string) => ({ key: 'PUBLIC', kind: 'PLAIN', value }) as const
  await make('Staging')
  const base = await make('Production', { production: true, shellVariables: [secret, plain('one')] })
  const made = await preview('x')
  assert.deepEqual(await variablesOf(made), { PUBLIC: 'one' })
  const sealed = (await read(made))?.inherited
  await variablesOf(made)
  assert.deepEqual((await read(made))?.inherited, sealed)
  await change(base, { shellVariables: [secret, plain('two')] })
  await settings({ secrets: true })
  assert.deepEqual(await variablesOf(made), { TOKEN: 's3cret', PUBLIC: 'two' })
  await change(made, { shellVariables: [plain('own')] })
  assert.deepEqual(await variablesOf(made), { TOKEN: 's3cret', PUBLIC: 'own' })
  await settings({ environment: (await make('Other', { shellVariables: [plain('other')] })).id })
  await change(made, { shellVariables: [] })
  assert.deepEqual(await variablesOf(made), { PUBLIC: 'other' })
})

test('who may see a preview follows its base at once, unless it is set for the preview itself', async (t) => {
  const { make, preview, change, settings, read } = await open(t)
  const addressesOf = async (one: Environment) => (await read(one))?.protection.addresses
  const base = await make('Production', { production: true, protection: { addresses: ['192.0.2.1'] } })
  const [follows, own] = [await preview('follows'), await preview('own')]
  assert.deepEqual(await addressesOf(follows), ['192.0.2.1'])
  await change(own, { protection: { addresses: ['198.51.100.1'] } })
  await change(base, { protection: { addresses: ['192.0.2.2'] } })
  assert.deepEqual(await addressesOf(follows), ['192.0.2.2'])
  assert.deepEqual(await addressesOf(own), ['198.51.100.1'])
  await settings({ environment: (await make('Open')).id })
  assert.deepEqual(await addressesOf(follows), [])
})

test('a preview is never for search engines, and stays of its branch', async (t) => {
  const { make, preview, change } = await open(t)
  await make('Production')
  const made = await preview('x')
  await assert.rejects(change(made, { production: true }), /search engines/)
  await assert.rejects(change(made, { branch: 'y' }), /one branch/)
})

test('a setting that names a preview or an environment of another app is refused', async (t) => {
  const { make, preview, settings, environment } = await open(t)
  await make('Production')
  for (const { id } of [await preview('x'), await environment()])
    await assert.rejects(settings({ environment: id }), refusedWith('FIELD_INVALID'))
})

test('a preview without deployments and visits is deleted when its time is over, and not before', async (t) => {
  const { make, preview, settings, clock, round, finishAll, read, visits, operations, sql } = await open(t)
  await make('Production')
  await settings({ idleDays: 3 })
  const [idle, visited] = [await preview('idle'), await preview('visited')]
  for (const one of [idle, visited]) await finishAll(one)
  await clock.advance(2 * DAY_MS)
  visits.set(visited.id, clock.now())
  await round()
  assert.deepEqual([(await read(idle))?.state, (await read(visited))?.state], ['EMPTY', 'EMPTY'])
  assert.equal((await read(visited))?.preview?.expireTime, clock.now() + 3 * DAY_MS)
  await clock.advance(DAY_MS)
  await round()
  assert.deepEqual([(await read(idle))?.state, (await read(visited))?.state], ['DELETING', 'EMPTY'])
  const [deletion] = await operations.unfinishedOf(sql, idle.id)
  assert.deepEqual(deletion?.requestedBy, { kind: 'SERVICE', name: 'idle preview' })
})

test('a preview is not deleted while an operation of it is unfinished, nor by a process that does not lead', async (t) => {
  const { make, preview, clock, round, finishAll, read, removal } = await open(t)
  await make('Production')
  const made = await preview('x')
  await clock.advance(15 * DAY_MS)
  await round()
  assert.equal((await read(made))?.state, 'EMPTY')
  await finishAll(made)
  const check = () => Promise.reject(new LeadershipLost())
  await createPreviewRemoval({ ...removal, term: { check } }).round()
  assert.equal((await read(made))?.state, 'EMPTY')
  await round()
  assert.equal((await read(made))?.state, 'DELETING')
})
