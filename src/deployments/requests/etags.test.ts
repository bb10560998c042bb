/** Editors who change the same environment at the same moment, on a real database. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../test/support/fuzz.ts'
import { openRoutedModules } from '../../../test/support/modules/routing.ts'
import { appEtag, createVariables, domainsEtag, environmentEtag, type Preconditions } from '../../apps/index.ts'
import type { Problem } from '../../contract/index.ts'
import { readEntityTag } from '../../http/index.ts'
import { createVault } from '../../storage/index.ts'
import { createReplaceDomains } from './replace-domains.ts'
import { createRequests } from './request.ts'
import { createBuildRequests } from './request-build.ts'

const EDITORS = 6

type Edit =
  | { what: 'set'; key: string }
  | { what: 'unset'; key: string }
  | { what: 'rename' }
  | { what: 'add' | 'remove'; domain: string }
  | { what: 'deploy' }

const keys = fc.constantFrom('A', 'B', 'C', 'D')
const domains = fc.constantFrom('a.example', 'b.example', 'c.example')
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ what: fc.constant('set' as const), key: keys }),
  fc.record({ what: fc.constant('unset' as const), key: keys }),
  fc.record({ what: fc.constant('rename' as const) }),
  fc.record({ what: fc.constantFrom('add' as const, 'remove' as const), domain: domains }),
  fc.record({ what: fc.constant('deploy' as const) }),
)

const onlyIf = (etag: string): Preconditions => [[readEntityTag(etag) ?? '']]

async function open(t: Parameters<typeof openRoutedModules>[0]) {
  const modules = await openRoutedModules(t)
  const variables = createVariables({ vault: createVault(randomBytes(32)) })
  const requests = createRequests({ ...modules, variables, buildRequests: createBuildRequests(modules) })
  return { ...modules, variables, requests, replaceDomains: createReplaceDomains(modules) }
}

test('of any number of editors at the same moment, every change that was acknowledged is in the end state', async (t) => {
  const house = await open(t)
  const { account, environments, requests, variables, domains, replaceDomains } = house

  await holds(
    fc.asyncProperty(
      fc.array(fc.array(edit, { maxLength: 4 }), { minLength: 2, maxLength: EDITORS }),
      async (plans) => {
        const { id, appName } = await house.environment()
        /** Each editor has keys and names of their own in the lists that all of them change: the last of each must stay. */
        const expected = new Map<string, string>()

        async function attempt(editor: number, step: number, given: Edit): Promise<void> {
          const found = await environments.requireWhole(account.id, appName, id)
          const only = onlyIf(environmentEtag(found))
          const patch = async (body: Parameters<typeof requests.updateEnvironment>[3]) => {
            const mask = Object.keys(body) as Parameters<typeof requests.updateEnvironment>[4]
            await house.finish((await requests.updateEnvironment(account, appName, id, body, mask, only)).id)
          }
          const value = `${editor}-${step}`
          if (given.what === 'rename') return patch({ displayName: value })
          if (given.what === 'deploy') return void (await house.deploy(found))
          if ('domain' in given) {
            const domain = `${editor}.${id}.${given.domain}`
            const before = await domains.read(id)
            const others = before.names.filter((each) => each !== domain)
            const after = given.what === 'add' ? [...others, domain] : others
            await replaceDomains(account, appName, id, { domains: after }, onlyIf(domainsEtag(id, before)))
            expected.set(domain, given.what)
            return
          }
          const key = `${given.key}_${editor}`
          const others = found.variables.flatMap((each) => (each.key === key ? [] : { key: each.key }))
          await patch({ shellVariables: given.what === 'set' ? [...others, { key, value }] : others })
          expected.set(key, given.what === 'set' ? value : 'remove')
        }

        async function insist(editor: number, step: number, given: Edit): Promise<void> {
          for (let tries = 0; tries < 100; tries++) {
            try {
              return await attempt(editor, step, given)
            } catch (error) {
              if ((error as Problem).reason !== 'ETAG_MISMATCH') throw error
            }
          }
          assert.fail('somebody gets through in every round')
        }

        await Promise.all(
          plans.map(async (plan, editor) => {
            for (const [step, given] of plan.entries()) await insist(editor, step, given)
          }),
        )
        const after = await environments.requireWhole(account.id, appName, id)
        const actual = new Map([
          ...variables.open(id, after.variables).map(({ key, value }) => [key, value] as const),
          ...((await domains.of([id])).get(id) ?? []).map((domain) => [domain, 'add'] as const),
        ])
        const wanted = [...expected].filter(([, value]) => value !== 'remove')
        assert.deepEqual([...actual].sort(), wanted.sort())
      },
    ),
    15,
  )
})

test('of many changes of one version that come together, exactly one is made', async (t) => {
  const { environment, account, requests, replaceDomains, environments, sql } = await open(t)
  const at = await environment()
  const only = onlyIf(environmentEtag(at))
  const renames = await Promise.allSettled(
    Array.from({ length: 10 }, (_, index) =>
      requests.updateEnvironment(account, at.appName, at.id, { displayName: `n${index}` }, ['displayName'], only),
    ),
  )
  const noDomains = domainsEtag(at.id, { names: [], redirects: [] })
  const replaces = await Promise.allSettled(
    Array.from({ length: 10 }, (_, index) =>
      replaceDomains(account, at.appName, at.id, { domains: [`n${index}.example`] }, onlyIf(noDomains)),
    ),
  )
  for (const results of [renames, replaces]) {
    const made = results.filter(({ status }) => status === 'fulfilled')
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? result.reason.reason : []))
    assert.deepEqual([made.length, new Set(reasons)], [1, new Set(['ETAG_MISMATCH'])])
  }
  const winner = renames.findIndex(({ status }) => status === 'fulfilled')
  assert.equal((await environments.byId(sql, at.id))?.displayName, `n${winner}`)
})

test('a build that goes live while somebody edits does not make the edit fail, nor does a change of domains', async (t) => {
  const { environment, account, requests, replaceDomains, deploy } = await open(t)
  const at = await environment()
  const only = onlyIf(environmentEtag(at))
  await deploy(at)
  await replaceDomains(account, at.appName, at.id, { domains: ['www.example.com'] })
  const changed = await requests.updateEnvironment(
    account,
    at.appName,
    at.id,
    { displayName: 'y' },
    ['displayName'],
    only,
  )
  assert.equal(changed.trigger, 'UPDATE')
})

test('an environment that was changed is not deleted by somebody who saw it before, and twice is once', async (t) => {
  const { environment, environments, account, requests, sql } = await open(t)
  const at = await environment()
  const old = onlyIf(environmentEtag(at))
  await requests.updateEnvironment(account, at.appName, at.id, { displayName: 'y' }, ['displayName'])
  await assert.rejects(requests.deleteEnvironment(account, at.appName, at.id, old), { reason: 'ETAG_MISMATCH' })
  const now = await environments.byId(sql, at.id)
  assert.ok(now)
  assert.equal(now.state, 'EMPTY')
  const first = await requests.deleteEnvironment(account, at.appName, at.id, onlyIf(environmentEtag(now)))
  const second = await requests.deleteEnvironment(account, at.appName, at.id, onlyIf(environmentEtag(now)))
  assert.equal(second.id, first.id)
})

test('an app that was made again under the same name is not deleted by somebody who saw the first', async (t) => {
  const { apps, account, requests } = await open(t)
  const first = await apps.create(account.id, 'shop', 'regions/UK')
  await requests.deleteApp(account, 'shop', { force: false })
  await apps.create(account.id, 'shop', 'regions/UK')
  const preconditions = onlyIf(appEtag(first))
  await assert.rejects(requests.deleteApp(account, 'shop', { force: true, preconditions }), { reason: 'ETAG_MISMATCH' })
  assert.ok(await apps.require(account.id, 'shop'))
})
