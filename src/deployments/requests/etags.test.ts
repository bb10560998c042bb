/** Editors who change the same environment at the same moment, on a real database. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../test/support/fuzz.ts'
import { openRoutedModules } from '../../../test/support/modules/routing.ts'
import type { Account } from '../../accounts/index.ts'
import {
  appEtag,
  createVariables,
  domainsEtag,
  type Environment,
  environmentEtag,
  type Preconditions,
} from '../../apps/index.ts'
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

type Change = Parameters<ReturnType<typeof createRequests>['updateEnvironment']>[1]

const refOf = (account: Account, { appName, id }: Pick<Environment, 'appName' | 'id'>) => ({
  account,
  appName,
  environmentId: id,
})

test('of any number of editors at the same moment, every change that was acknowledged is in the end state', async (t) => {
  const system = await open(t)
  const { account, environments, requests, variables, domains, replaceDomains } = system

  await holds(
    fc.asyncProperty(
      fc.array(fc.array(edit, { maxLength: 4 }), { minLength: 2, maxLength: EDITORS }),
      async (plans) => {
        const { id, appName } = await system.environment()
        /** Each editor has keys and names of their own in the lists that all of them change: the last of each must stay. */
        const expected = new Map<string, string>()

        async function attempt(editor: number, step: number, given: Edit): Promise<void> {
          const found = await environments.requireWhole(account.id, appName, id)
          const only = onlyIf(environmentEtag(found))
          const at = { account, appName, environmentId: id }
          const patch = async (body: Change['given']) => {
            const change = { given: body, mask: Object.keys(body) as Change['mask'], preconditions: only }
            await system.finish((await requests.updateEnvironment(at, change)).id)
          }
          const value = `${editor}-${step}`
          if (given.what === 'rename') return patch({ displayName: value })
          if (given.what === 'deploy') return void (await system.deploy(found))
          if ('domain' in given) {
            const domain = `${editor}.${id}.${given.domain}`
            const before = await domains.read(id)
            const others = before.names.filter((each) => each !== domain)
            const after = given.what === 'add' ? [...others, domain] : others
            await replaceDomains(at, { domains: after }, onlyIf(domainsEtag(id, before)))
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
          assert.fail('one editor succeeds in every round')
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
      requests.updateEnvironment(refOf(account, at), {
        given: { displayName: `n${index}` },
        mask: ['displayName'],
        preconditions: only,
      }),
    ),
  )
  const noDomains = domainsEtag(at.id, { names: [], redirects: [] })
  const replaces = await Promise.allSettled(
    Array.from({ length: 10 }, (_, index) =>
      replaceDomains(refOf(account, at), { domains: [`n${index}.example`] }, onlyIf(noDomains)),
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

test('a build that goes live while a user edits does not make the edit fail, nor does a change of domains', async (t) => {
  const { environment, account, requests, replaceDomains, deploy } = await open(t)
  const at = await environment()
  const only = onlyIf(environmentEtag(at))
  await deploy(at)
  await replaceDomains(refOf(account, at), { domains: ['www.example.com'] })
  const changed = await requests.updateEnvironment(refOf(account, at), {
    given: { displayName: 'y' },
    mask: ['displayName'],
    preconditions: only,
  })
  assert.equal(changed.trigger, 'UPDATE')
})

test('a deletion with the etag from before a change is refused, and a repeated deletion is the same operation', async (t) => {
  const { environment, environments, account, requests, sql } = await open(t)
  const at = await environment()
  const old = onlyIf(environmentEtag(at))
  await requests.updateEnvironment(refOf(account, at), { given: { displayName: 'y' }, mask: ['displayName'] })
  await assert.rejects(requests.deleteEnvironment(refOf(account, at), { preconditions: old }), {
    reason: 'ETAG_MISMATCH',
  })
  const now = await environments.byId(sql, at.id)
  assert.ok(now)
  assert.equal(now.state, 'EMPTY')
  const preconditions = onlyIf(environmentEtag(now))
  const first = await requests.deleteEnvironment(refOf(account, at), { preconditions })
  const second = await requests.deleteEnvironment(refOf(account, at), { preconditions })
  assert.equal(second.id, first.id)
})

test('the etag of a deleted app does not delete a new app of the same name', async (t) => {
  const { apps, account, requests } = await open(t)
  const first = await apps.create(account.id, 'shop', 'regions/UK')
  await requests.deleteApp(account, 'shop', { force: false })
  await apps.create(account.id, 'shop', 'regions/UK')
  const preconditions = onlyIf(appEtag(first))
  await assert.rejects(requests.deleteApp(account, 'shop', { force: true, preconditions }), { reason: 'ETAG_MISMATCH' })
  assert.ok(await apps.require(account.id, 'shop'))
})
