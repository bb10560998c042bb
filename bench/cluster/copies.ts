/**
 * Many environments without as many builds: the rows of one that was deployed are copied, each under a name of its own. A control
 * process that starts adds live apps that are not on record, asleep, as after a move from one machine; the leader makes their
 * services. From there on they are like any other.
 */
import { until } from '../../test/support/until.ts'
import { APP, type Cluster, type Site } from './sides.ts'

/** Ids have 36 characters, of which the last twelve are random. */
const copied = (id: string) => `left(${id}, 24) || lpad(to_hex(n), 12, '0')`
/** Columns that may be empty. */
const copiedIfAny = (id: string) => `CASE WHEN ${id} = '' THEN '' ELSE ${copied(id)} END`

/** The columns that differ, by table; the others are those of the row that is copied. */
const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  environments: {
    id: copied('o.id'),
    host_label: "'copy-' || n",
    uid: 'o.uid + 1000 + n',
    live_deployment: copied('o.live_deployment'),
  },
  operations: {
    id: copied('o.id'),
    environment_id: copied('o.environment_id'),
    build: copiedIfAny('o.build'),
    deployment: copiedIfAny('o.deployment'),
  },
  builds: { id: copied('o.id'), environment_id: copied('o.environment_id'), operation_id: copied('o.operation_id') },
  deployments: {
    id: copied('o.id'),
    environment_id: copied('o.environment_id'),
    operation_id: copied('o.operation_id'),
    build_id: copied('o.build_id'),
  },
  sources: { environment_id: copied('o.environment_id') },
}

export async function copyEnvironments({ whole, controls, sites }: Cluster, count: number): Promise<Site[]> {
  const { server, settings } = whole.shared
  const services = async () => (await whole.swarm.docker.services({})).length
  const before = await services()
  const [original] = sites as [Site]
  const id = original.name.split('/').at(-1) ?? ''
  const copies = Object.entries(TABLES).map(([table, columns]) => {
    const values = Object.entries(columns).map(([name, value]) => `'${name}', ${value}`)
    return `
      INSERT INTO ${table} SELECT made.* FROM ${table} o, generate_series(1, ${count}) n,
        jsonb_populate_record(o, jsonb_build_object(${values.join(', ')})) made
      WHERE o.${table === 'environments' ? 'id' : 'environment_id'} = '${id}'`
  })
  const routes = `
    INSERT INTO route_changes (environment_id, revision)
    SELECT ${copied(`'${id}'`)}, value + n FROM revisions, generate_series(1, ${count}) n WHERE name = 'routes'`
  const next = `UPDATE revisions SET value = value + ${count} WHERE name = 'routes'`
  await server.psql([...copies, routes, next].join(';'), settings.HEADLAND_DATABASE_URL)

  const { dataDir } = controls[1]
  await controls[1].stop()
  controls[1] = await whole.startControl(1, dataDir)
  await until(async () => (await services()) >= before + count, 'each app has a service')
  const { hostname, host } = new URL(original.url)
  const domain = hostname.slice(hostname.indexOf('.'))
  const port = host.slice(hostname.length)
  return Array.from({ length: count }, (_, at) => ({
    name: `accounts/default/apps/${APP}/environments/${id.slice(0, 24)}${(at + 1).toString(16).padStart(12, '0')}`,
    url: `http://copy-${at + 1}${domain}${port}`,
  }))
}
