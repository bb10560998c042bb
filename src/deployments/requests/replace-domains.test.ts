import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRoutedModules } from '../../../test/support/modules/routing.ts'
import type { EnvironmentRoutes, RouteTarget } from '../../edge/index.ts'
import { statement } from '../../storage/index.ts'
import { createReplaceDomains } from './replace-domains.ts'

async function furnished(t: Parameters<typeof openRoutedModules>[0]) {
  const modules = await openRoutedModules(t)
  const { sql, environments, environment } = modules
  const { id, appName } = await environment()
  await sql.transaction(async (tx) => {
    const made = await environments.byId(tx, id)
    assert.ok(made)
    await environments.assignHostLabel(tx, made)
  })
  const replace = createReplaceDomains(modules)
  const at = { account: modules.account, appName, environmentId: id }
  return {
    ...modules,
    id,
    other: await environment(),
    replace: async (...domains: string[]) => (await replace(at, { domains })).names,
    replaceAll: (given: Parameters<typeof replace>[1]) => replace(at, given),
    async revision() {
      const [row] = await sql.query(statement`SELECT value FROM revisions WHERE name = 'routes'`)
      return row?.value
    },
  }
}

/** The hosts that the edge was given last, of all environments that it was given. */
const hostsIn = (published: { routes: EnvironmentRoutes[] }[]): Record<string, RouteTarget> =>
  Object.assign({}, ...(published.at(-1)?.routes ?? []).map(({ hosts }) => hosts))

test('the edge is given the names, which other processes follow by the revision', async (t) => {
  const { published, id, replace, revision } = await furnished(t)
  assert.deepEqual(await replace('WWW.example.com', 'example.com'), ['example.com', 'www.example.com'])
  assert.equal(await revision(), 1)
  const { 'www.example.com': custom, 'example.com': another, ...own } = hostsIn(published)
  assert.deepEqual(custom, { kind: 'empty', environment: id })
  assert.deepEqual([custom, another], [another, ...Object.values(own)])
})

test('a name that redirects is given to the edge as such, and stays so until the list says otherwise', async (t) => {
  const { published, id, replaceAll, replace, domains } = await furnished(t)
  const [apex, www] = ['example.com', 'www.example.com']
  const both = { domains: [apex, www], redirects: [{ domain: apex, to: 'WWW.example.com.' }] }
  const list = { names: [apex, www], redirects: [{ domain: apex, to: www }] }
  assert.deepEqual(await replaceAll(both), list)
  assert.deepEqual(hostsIn(published)[apex], { kind: 'redirect', environment: id, to: www })
  assert.deepEqual(hostsIn(published)[www], { kind: 'empty', environment: id })

  // A caller that knows nothing of redirects adds a name.
  await replace(apex, www, 'shop.example.com')
  assert.deepEqual((await domains.read(id)).redirects, list.redirects)
  assert.deepEqual((await replaceAll({ domains: [apex, www], redirects: [] })).redirects, [])
  await replaceAll(both)
  // When its target is removed, the name answers by itself.
  assert.deepEqual(await replaceAll({ domains: [apex] }), { names: [apex], redirects: [] })
  assert.deepEqual(hostsIn(published)[apex], { kind: 'empty', environment: id })
})

test('names that are refused leave everything as it is', async (t) => {
  const { sql, environments, domains, published, id, other, replace, revision } = await furnished(t)
  await sql.transaction((tx) => domains.replace(tx, other.id, ['taken.example.com']))
  await assert.rejects(replace('localhost'), { reason: 'FIELD_INVALID' })
  await assert.rejects(replace('www.example.com', 'taken.example.com'), { reason: 'DOMAIN_TAKEN' })
  await sql.transaction((tx) => environments.markDeleting(tx, id))
  await assert.rejects(replace('www.example.com'), { reason: 'ENVIRONMENT_DELETING' })
  assert.deepEqual(await domains.routed(), new Map([[other.id, [{ name: 'taken.example.com', redirectTo: null }]]]))
  assert.deepEqual([await revision(), published], [0, []])
})

test('the wait for an edge that does not come back ends, and the names are kept', async (t) => {
  const { clock, domains, edges, id, replace } = await furnished(t)
  const asked = Promise.withResolvers<void>()
  const back = Promise.withResolvers<void>()
  edges.setRoutes = () => {
    asked.resolve()
    return back.promise
  }
  const refused = assert.rejects(replace('www.example.com'), { reason: 'NOT_READY', retryAfterSeconds: 5 })
  await Promise.race([asked.promise, refused])
  await clock.advance(15_000)
  await refused
  assert.deepEqual((await domains.of([id])).get(id), ['www.example.com'])
  back.resolve()
  assert.deepEqual(await replace('www.example.com'), ['www.example.com'], 'to ask again does no harm')
})

test("an environment's own host is never overridden, also when the service's domain has changed", async (t) => {
  const { sql, environments, domains, published, withDomain, id, other } = await furnished(t)
  const label = (await environments.byId(sql, id))?.hostLabel
  // Asked for while the service was at sites.example.com; now it is at example.net.
  await sql.transaction(async (tx) => {
    const made = await environments.byId(tx, other.id)
    assert.ok(made)
    await environments.assignHostLabel(tx, made)
    await domains.replace(tx, other.id, [`${label}.example.net`, 'www.example.net'])
  })
  await withDomain('example.net').publish()
  const hosts = hostsIn(published)
  assert.equal(hosts[`${label}.example.net`]?.environment, id)
  assert.equal(hosts['www.example.net']?.environment, other.id)
})

test('the domains of an account are limited over all its environments; an account above the limit can still reduce them', async (t) => {
  const { sql, domains, account, other, id, environments, ...modules } = await furnished(t)
  const parts = { ...modules, sql, domains, environments, maxDomains: 3 }
  const replaceOf = ({ id, appName }: { id: string; appName: string }, ...names: string[]) =>
    createReplaceDomains(parts)({ account, appName, environmentId: id }, { domains: names })
  const mine = await environments.byId(sql, id)
  assert.ok(mine)
  await replaceOf(mine, 'a.example.com', 'b.example.com')
  await replaceOf(other, 'c.example.com')
  const refused = { reason: 'ACCOUNT_LIMIT', metadata: { kind: 'DOMAINS', limit: '3', setting: 'accountDomains' } }
  await assert.rejects(replaceOf(other, 'c.example.com', 'd.example.com'), refused)
  await replaceOf(other, 'd.example.com')
  await sql.transaction((tx) =>
    domains.replace(
      tx,
      id,
      ['a', 'b', 'c', 'e', 'f'].map((name) => `${name}.example.com`),
    ),
  )
  await assert.rejects(replaceOf(other, 'd.example.com', 'g.example.com'), refused)
  await replaceOf(mine, 'a.example.com', 'b.example.com', 'c.example.com')
  assert.equal(await domains.count(account.id), 4)
})

test('a client that causes changes of routes in a loop leaves half the time to others', async (t) => {
  const { routing, edges, sql, id } = await furnished(t)
  const publish = async () => {
    await sql.transaction((tx) => routing.touch(tx, id))
    await routing.publish()
  }
  let [tables, workingMs] = [0, 0]
  edges.setRoutes = async () => {
    tables += 1
    const began = performance.now()
    await new Promise((resolve) => setTimeout(resolve, 20))
    workingMs += performance.now() - began
  }
  const began = performance.now()
  for (let times = 0; times < 10; times++) await publish()
  await sql.transaction((tx) => routing.touch(tx, id))
  // Calls that come together share one publication.
  await Promise.all(Array.from({ length: 50 }, () => routing.publish()))
  assert.ok(tables <= 12, `${tables} tables`)
  assert.ok(workingMs < 0.7 * (performance.now() - began))
  await routing.stop()
})
