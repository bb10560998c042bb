/**
 * Checks of rows that decide about paths, users and programs, whether the backup is authenticated or not: ids are ids,
 * digests are digests, users are those of tenants, numbers of instances are allowed ones, protections are whole, and no
 * path leads upwards. The code that uses them checks again.
 */
import { checkProtection } from '../apps/index.ts'
import { checkId, isId, isTenantUid, TENANT_UIDS } from '../base/index.ts'
import { checkPlan, checkTools } from '../builds/index.ts'
import { checkCertificateNames } from '../certificates/index.ts'
import { LIMITS, resources } from '../contract/index.ts'
import { readAddressRange } from '../http/index.ts'
import {
  checkDigest,
  checkedLogName,
  MAX_CHUNK_BYTES,
  MIGRATIONS,
  type Reader,
  type Row,
  type Statement,
  statement,
  type Value,
} from '../storage/index.ts'
import { SOURCES_SINCE } from './contents.ts'
import { DatabaseDamaged } from './damaged.ts'

type Check = (value: Value) => void

const orNull =
  (check: (text: string) => void): Check =>
  (value) => {
    if (value !== null) check(value as string)
  }
const id: Check = (value) => checkId(value as string)
const digest: Check = (value) => checkDigest(value as string)
const json = (check: (value: never) => void): Check => orNull((text) => check(JSON.parse(text) as never))

function uid(value: Value) {
  if (value !== null && !isTenantUid(value)) throw new Error(`${value} is not the user of an environment`)
}

function down(value: Value) {
  if (typeof value !== 'string' || value.startsWith('/') || value.split('/').includes('..') || value.includes('\0'))
    throw new Error('the path leads elsewhere')
}

function label(value: Value) {
  if (value !== null && !/^[a-z0-9-]{1,63}$/.test(String(value))) throw new Error('it is not a label')
}

function valueName(value: Value) {
  if (!/^[0-9a-f]{64}$/.test(String(value))) throw new Error('it is not the digest of a key')
}

function valueBytes(value: Value) {
  if (Number(value) > LIMITS.valueBytes) throw new Error('the value is too large for a row')
}

/** The user that a program of a cluster runs as. */
function serviceUser({ user }: { user: { uid: number; gid: number } }) {
  uid(user.uid)
  uid(user.gid)
}

function logName(value: Value) {
  checkedLogName(String(value))
}

function lineNumber(value: Value) {
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw new Error('it is not the number of a line')
}

function count(value: Value) {
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw new Error('it is not a count')
}

function chunkBytes(value: Value) {
  if (Number(value) > MAX_CHUNK_BYTES) throw new Error('it has too many lines for a row')
}

/** PostgreSQL uses it as a number of 32 bits, and it has to rise. */
const MAX_TERM = 1_000_000_000

function term(value: Value) {
  if (!Number.isInteger(value) || Number(value) < 1 || Number(value) > MAX_TERM) throw new Error('it is not a term')
}

function nodeId(value: Value) {
  if (!/^[a-z0-9]{1,64}$/.test(String(value))) throw new Error('it is not the id of a node')
}

/** Requests in flight, by deployment. */
function requestCounts(loads: Record<string, number>) {
  if (!Object.entries(loads).every(([name, count]) => isId(name) && Number.isSafeInteger(count) && count >= 0))
    throw new Error('it has what is no number of requests')
}

/** They become a program for the kernel's firewall. */
function nodeRules(rules: Record<string, (string | { address: string })[]>) {
  const addresses = Object.values(rules).flatMap((list) =>
    list.map((one) => (typeof one === 'string' ? one : one.address)),
  )
  if (addresses.some((address) => readAddressRange(address)?.family !== 'ipv4'))
    throw new Error('it has what is no IPv4 address')
}

const sinceOf = (migration: string): number => MIGRATIONS.find(({ name }) => name === migration)?.id ?? 0

/** `since`: the migration that added it, if backups may be older. */
type Table = { table: string; since?: number; columns: Record<string, Check>; read(after: Statement): Statement }

/** Each page begins after the last row of the one before. */
const TABLES: readonly Table[] = [
  {
    table: 'environments',
    columns: { id, uid, host_label: label, root_directory: down, live_deployment: orNull(checkId) },
    read: (after) => statement`
      SELECT rowid AS at, id, uid, host_label, root_directory, live_deployment FROM environments
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'environments',
    since: sinceOf('scaling'),
    columns: { scaling: json(resources.checkScaling) },
    read: (after) => statement`
      SELECT rowid AS at, scaling FROM environments WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'environments',
    since: sinceOf('protection'),
    columns: { protection: json(checkProtection) },
    read: (after) => statement`
      SELECT rowid AS at, protection FROM environments WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'builds',
    columns: {
      id,
      environment_id: id,
      operation_id: id,
      archive_digest: digest,
      output_digest: orNull(checkDigest),
      packages_id: orNull(checkId),
      plan: json(checkPlan),
      tools: json(checkTools),
    },
    read: (after) => statement`
      SELECT rowid AS at, id, environment_id, operation_id, archive_digest, output_digest, packages_id, plan, tools
      FROM builds WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'deployments',
    columns: { id, environment_id: id, build_id: id, operation_id: id },
    read: (after) => statement`
      SELECT rowid AS at, id, environment_id, build_id, operation_id FROM deployments
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'deployments',
    since: sinceOf('earlier files'),
    columns: { earlier_index: orNull(down) },
    read: (after) => statement`
      SELECT rowid AS at, earlier_index FROM deployments WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'operations',
    columns: { id, environment_id: id, activates: orNull(checkId), satisfied_by: orNull(checkId) },
    read: (after) => statement`
      SELECT rowid AS at, id, environment_id, activates, satisfied_by FROM operations
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'sources',
    since: SOURCES_SINCE,
    columns: {
      environment_id: id,
      archive_digest: digest,
      pin_digest: orNull(checkDigest),
      pin_deployment: orNull(checkId),
      pin_operation: orNull(checkId),
    },
    read: (after) => statement`
      SELECT rowid AS at, environment_id, archive_digest, pin_digest, pin_deployment, pin_operation FROM sources
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'certificates',
    since: sinceOf('certificates'),
    columns: { id, account_id: orNull(checkId), names: json(checkCertificateNames) },
    read: (after) => statement`
      SELECT rowid AS at, id, account_id, names FROM certificates WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'stored_logs',
    since: sinceOf('object store'),
    columns: { log_name: logName, digest },
    read: (after) => statement`
      SELECT rowid AS at, log_name, digest FROM stored_logs WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'log_heads',
    since: sinceOf('log chunks'),
    columns: { log_name: logName, last_number: lineNumber, open_number: lineNumber, loose_number: lineNumber },
    read: (after) => statement`
      SELECT rowid AS at, log_name, last_number, open_number, loose_number FROM log_heads
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'log_chunks',
    since: sinceOf('log chunks'),
    columns: { log_name: logName, first_number: lineNumber, last_number: lineNumber, line_bytes: chunkBytes },
    read: (after) => statement`
      SELECT rowid AS at, log_name, first_number, last_number, octet_length(lines) AS line_bytes FROM log_chunks
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'stored_caches',
    since: sinceOf('object store'),
    columns: { environment_id: id, digest },
    read: (after) => statement`
      SELECT rowid AS at, environment_id, digest FROM stored_caches WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'kv_values',
    since: sinceOf('values'),
    columns: { environment_id: id, name: valueName, digest: orNull(checkDigest), body_bytes: valueBytes },
    read: (after) => statement`
      SELECT rowid AS at, environment_id, name, digest, octet_length(body) AS body_bytes FROM kv_values
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'leadership',
    since: sinceOf('leadership'),
    columns: { term },
    read: (after) => statement`SELECT rowid AS at, term FROM leadership WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'cluster_apps',
    since: sinceOf('cluster apps'),
    columns: {
      deployment: id,
      environment: id,
      account: id,
      service: json(serviceUser),
      scaling: json(resources.checkScaling),
    },
    read: (after) => statement`
      SELECT rowid AS at, deployment, environment, account, service, scaling FROM cluster_apps
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'cluster_instances',
    since: sinceOf('cluster apps'),
    columns: { instance: id, deployment: id },
    read: (after) => statement`
      SELECT rowid AS at, instance, deployment FROM cluster_instances WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'cluster_loads',
    since: sinceOf('cluster loads'),
    columns: { process: id, loads: json(requestCounts) },
    read: (after) => statement`
      SELECT rowid AS at, process, loads FROM cluster_loads WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'cluster_nodes',
    since: sinceOf('cluster nodes'),
    columns: { id: nodeId },
    read: (after) => statement`SELECT rowid AS at, id FROM cluster_nodes WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'node_rules',
    since: sinceOf('cluster nodes'),
    columns: { rules: json(nodeRules) },
    read: (after) => statement`SELECT rowid AS at, rules FROM node_rules WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'join_tokens',
    since: sinceOf('join tokens'),
    columns: { generation: count },
    read: (after) => statement`
      SELECT rowid AS at, generation FROM join_tokens WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'packages',
    columns: { id },
    read: (after) => statement`SELECT rowid AS at, id FROM packages WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
]

const PAGE = 500

/** Throws at the first invalid row. */
export async function checkRows(reader: Reader, schema: number) {
  for (const { table, since = 0, columns, read } of TABLES) {
    if (schema < since) continue
    let after = statement`1 = 1`
    for (;;) {
      const rows = await reader.query<Row & { at: number }>(read(after))
      for (const row of rows) checkRow(table, columns, row)
      const last = rows.at(-1)
      if (!last || rows.length < PAGE) break
      after = statement`rowid > ${last.at}`
    }
  }
  await checkUsers(reader)
  const [hold] = await reader.query(statement`SELECT id FROM holds LIMIT 1`)
  if (hold) throw new DatabaseDamaged('it has holds, which no backup keeps')
}

function checkRow(table: string, columns: Record<string, Check>, row: Row) {
  for (const [column, check] of Object.entries(columns)) {
    try {
      check(row[column] as Value)
    } catch (cause) {
      throw new DatabaseDamaged(`${table}.${column} is not as Headland writes it (${(cause as Error).message})`)
    }
  }
}

/** Each environment has a user of its own, and the next one gets another. */
async function checkUsers(reader: Reader) {
  const [twice] = await reader.query(
    statement`SELECT uid FROM environments WHERE uid IS NOT NULL GROUP BY uid HAVING COUNT(*) > 1 LIMIT 1`,
  )
  if (twice) throw new DatabaseDamaged('two environments have the same user')
  const [last] = await reader.query<{ value: number; highest: number | null }>(
    statement`SELECT value, (SELECT MAX(uid) FROM environments) AS highest FROM revisions WHERE name = 'uids'`,
  )
  const first = TENANT_UIDS.min - 1
  const isRight = last !== undefined && Number.isInteger(last.value) && last.value < TENANT_UIDS.max
  if (!isRight || last.value < (last.highest ?? first) || last.value < first)
    throw new DatabaseDamaged('the next environment would get a user that is not its own')
}
