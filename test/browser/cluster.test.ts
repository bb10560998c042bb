/** What operators see of a cluster in the portal, with rows as its machines write them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChanges, parseDatabaseAddress } from '../../src/base/index.ts'
import { createProcessRecords } from '../../src/cluster-status/index.ts'
import { createNodeRecords } from '../../src/nodes/index.ts'
import { openPostgres } from '../../src/storage/sql/postgres/postgres.ts'
import { LEADING } from '../support/leading.ts'
import { inReverse } from '../support/machine/docker-engine.ts'
import { NEEDS_POSTGRES, startPostgres } from '../support/postgres/server.ts'
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertFits,
  assertQuiet,
  logIn,
  ownerOf,
  SIZES,
  startBrowser,
  startService,
} from './portal.ts'

const GIB = 1024 ** 3
const settings = { HEADLAND_OPERATOR_ACCOUNTS: 'default' }

test('the page of a cluster shows its machines, follows them, and says what is wrong', NEEDS_POSTGRES, async (test) => {
  const t = inReverse(test)
  const postgres = await startPostgres(t)
  const url = await postgres.createDatabase()
  const service = await startService(t, { settings: { ...settings, HEADLAND_DATABASE_URL: url } })
  const sql = await openPostgres(parseDatabaseAddress(url))
  t.after(() => sql.close())

  const records = createNodeRecords({ sql, changes: createChanges() })
  await records.setRules({ edges: ['10.0.0.1'], blocked: [], allowed: [], resolvers: [] })
  const machines = ['berlin-1', 'berlin-2', 'a-node-with-a-name-that-is-long-and-has-no-end.example.com'].map(
    (name, at) => ({ id: `n${at}`, name, address: `10.0.0.1${at}`, region: at === 2 ? 'US-C' : 'EU-W' }),
  )
  const connectionOf = (name: string) => ({ name: name.slice(0, 20), process: name, connection: 1, control: 'c' })
  for (const { id, name, address } of machines) {
    const facts = { memoryBytes: 16 * GIB, engine: '28.5.2', version: '0.0.1' }
    await records.join({ id, hostname: name, address, ...facts }, connectionOf(name))
    await records.confirm(id, connectionOf(name), 1)
  }
  const swarm = machines.map(({ name: hostname, ...member }) => ({ ...member, hostname, state: 'ready' }))
  await records.observe(swarm, LEADING)
  const worker = '3f2a91c0-1111-4111-8111-111111111111/pid:[4026531836] 4711 123456 token'
  const facts = { role: 'worker', host: 'builder-1', places: 2, version: '0.0.1' } as const
  await createProcessRecords(sql).see({ ...facts, process: worker, seenTime: Date.now() })

  const browser = await startBrowser(t, service)
  const page = await browser.open()
  await logIn(page, ownerOf(service))
  await page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: 'Cluster' }).click()
  await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor()
  const rowIn = (table: string, name: RegExp) => page.getByRole('table', { name: table }).getByRole('row', { name })
  await rowIn('Nodes', /berlin-1 10\.0\.0\.10 Europe West Ready 0 0 B of 16\.0 GB 28\.5\.2/).waitFor()
  await rowIn('Workers', /builder-1 4711 Idle/).waitFor()
  await rowIn('Control processes', /Leads/).waitFor()
  await rowIn('Edges', /Up to date/).waitFor()
  await page.getByText('There is one control process, and none to take over.').waitFor()
  await assertAccessibleInBoth(page, 'a cluster')

  // The page follows what changes, and what is broken comes first.
  await records.confirm('n1', connectionOf('berlin-2'), null)
  await rowIn('Nodes', /berlin-2 .* Not confirmed/).waitFor()
  await page.getByText('1 broken').waitFor()
  assert.match((await page.getByRole('listitem').filter({ hasText: 'Broken' }).textContent()) ?? '', /node berlin-2/)
  for (const size of ['wide', 'phone'] as const) {
    await page.setViewportSize(SIZES[size])
    await assertFits(page, `a cluster, ${size}`)
  }
  await assertAccessible(page, 'a cluster on a phone')
  assertQuiet(page)

  // Without an answer, what is known stays, and the page says so.
  await page.route('**/v1/cluster', (route) => route.fulfill({ status: 503, json: {} }))
  await page.getByRole('alert').waitFor()
  await rowIn('Nodes', /berlin-1/).waitFor()
  await page.unroute('**/v1/cluster')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('alert').waitFor({ state: 'detached' })
})
