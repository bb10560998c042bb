import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routedHouse } from '../../test/support/routing.ts'
import { statement } from '../storage/index.ts'
import { createReplaceDomains } from './replace-domains.ts'

async function furnished(t: Parameters<typeof routedHouse>[0]) {
  const rooms = await routedHouse(t)
  const { sql, environments, environment } = rooms
  const { id, appName } = await environment()
  await sql.transaction(async (tx) => {
    const made = await environments.byId(tx, id)
    assert.ok(made)
    await environments.assignHostLabel(tx, made)
  })
  const replace = createReplaceDomains(rooms)
  return {
    ...rooms,
    id,
    other: await environment(),
    replace: (...names: string[]) => replace(rooms.account, appName, id, names),
    async revision() {
      const [row] = await sql.query(statement`SELECT value FROM revisions WHERE name = 'routes'`)
      return row?.value
    },
  }
}

test('the edge is given a table with the names, which other processes follow by the revision', async (t) => {
  const { tables, id, replace, revision } = await furnished(t)
  assert.deepEqual(await replace('WWW.example.com', 'example.com'), ['example.com', 'www.example.com'])
  assert.equal(await revision(), 1)
  const { 'www.example.com': custom, 'example.com': another, ...own } = tables.at(-1)?.hosts ?? {}
  assert.deepEqual(custom, { kind: 'empty', environment: id })
  assert.deepEqual([custom, another], [another, ...Object.values(own)])
})

test('names that are refused leave everything as it is', async (t) => {
  const { sql, environments, domains, tables, id, other, replace, revision } = await furnished(t)
  await sql.transaction((tx) => domains.replace(tx, other.id, ['taken.example.com']))
  await assert.rejects(replace('localhost'), { reason: 'FIELD_INVALID' })
  await assert.rejects(replace('www.example.com', 'taken.example.com'), { reason: 'DOMAIN_TAKEN' })
  await sql.transaction((tx) => environments.markDeleting(tx, id))
  await assert.rejects(replace('www.example.com'), { reason: 'ENVIRONMENT_DELETING' })
  assert.deepEqual(await domains.all(), new Map([[other.id, ['taken.example.com']]]))
  assert.deepEqual([await revision(), tables], [0, []])
})

test('an edge that does not come back is not waited for without end; the names are kept', async (t) => {
  const { clock, domains, edge, id, replace } = await furnished(t)
  const asked = Promise.withResolvers<void>()
  const back = Promise.withResolvers<void>()
  edge.publish = () => {
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

test("an environment's own host is never led elsewhere, also when the service's domain has changed", async (t) => {
  const { sql, environments, domains, tables, withDomain, id, other } = await furnished(t)
  const label = (await environments.byId(sql, id))?.hostLabel
  // Asked for while the service was at sites.example.com; now it is at example.net.
  await sql.transaction(async (tx) => {
    const made = await environments.byId(tx, other.id)
    assert.ok(made)
    await environments.assignHostLabel(tx, made)
    await domains.replace(tx, other.id, [`${label}.example.net`, 'www.example.net'])
  })
  await withDomain('example.net').publish()
  const hosts = tables.at(-1)?.hosts ?? {}
  assert.equal(hosts[`${label}.example.net`]?.environment, id)
  assert.equal(hosts['www.example.net']?.environment, other.id)
})
