/** What an operator sees of a cluster: a service on a real PostgreSQL, and nodes on record there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChanges, parseDatabaseAddress } from '../../../src/base/index.ts'
import { createProcessRecords } from '../../../src/cluster-status/index.ts'
import { createNodeRecords } from '../../../src/nodes/index.ts'
import { openPostgres } from '../../../src/storage/sql/postgres/postgres.ts'
import { inReverse } from '../../support/machine/docker-engine.ts'
import { NEEDS_POSTGRES, startPostgres } from '../../support/postgres/server.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const NODE = {
  id: 'n1',
  hostname: 'berlin-1\u202E',
  address: '10.0.0.11',
  memoryBytes: 8 * 1024 ** 3,
  engine: '28.5.2',
  version: '0.0.1',
}

test(
  'processes, edges and nodes of a cluster are shown, with what is wrong and what to do',
  NEEDS_POSTGRES,
  async (test) => {
    const t = inReverse(test)
    const postgres = await startPostgres(t)
    const url = await postgres.createDatabase()
    const service = await startService(t, { settings: { HEADLAND_DATABASE_URL: url } })
    const status = async () => JSON.parse(await service.operator('cluster', 'status', '--json'))

    const first = await until(async () => {
      const found = await status()
      return found.leader && found.edges.length > 0 && found
    }, 'a process leads, and an edge follows it')
    assert.equal(first.isShared, true)
    assert.ok(first.leader.term >= 1)
    assert.equal(first.controls.length, 1)
    assert.equal(first.edges[0].control, first.controls[0].process)
    assert.deepEqual(first.nodes, [])
    assert.deepEqual(
      first.findings.map(({ part, state }: { part: string; state: string }) => `${part} ${state}`),
      ['control weaker'],
    )

    const sql = await openPostgres(parseDatabaseAddress(url))
    t.after(() => sql.close())
    const records = createNodeRecords({ sql, changes: createChanges() })
    await records.setRules({ edges: ['10.0.0.1'], blocked: [], allowed: [], resolvers: [] })
    const connection = { name: 'berlin-1', process: 'p', connection: 1, control: first.controls[0].process }
    await records.join(NODE, connection)
    await records.confirm('n1', connection, 1)
    const worker = { process: 'boot 4711 1 a', role: 'worker', host: 'builder-1', places: 2, version: '0.0.1' } as const
    await createProcessRecords(sql).see({ ...worker, seenTime: Date.now() })
    const second = await status()
    assert.equal(second.nodes[0].isConfirmed, true)
    assert.equal(second.controls[0].nodes, 1)

    await records.confirm('n1', connection, null)
    const shown = await service.operator('cluster', 'status').then(
      () => assert.fail('something is wrong, and the exit code says so'),
      ({ code, stdout }: { code: number; stdout: string }) => {
        assert.equal(code, 1)
        return stdout
      },
    )
    assert.match(shown, /^Leader: \S+ \d+ \S+, term \d+$/m)
    assert.match(shown, /^builder-1 4711 +0 +2 +\d+ s ago +0\.0\.1$/m)
    assert.match(shown, /^REGION +NODE +TOKEN +ADDRESS +STATE +ISOLATION/m)
    assert.match(
      shown,
      /berlin-1\\u202e +berlin-1 +10\.0\.0\.11 +- +not confirmed +0 +0 B +8\.0 GB +28\.5\.2 +0\.0\.1$/m,
    )
    assert.match(shown, /broken +it does not confirm that it keeps apps apart/)
    assert.doesNotMatch(shown, /\u202E/)
  },
)
