/**
 * Checks of rows that decide about paths, users and programs, whether the backup is authenticated or not: ids are ids,
 * digests are digests, users are those of tenants, numbers of instances are allowed ones, protections are whole, and no
 * path leads upwards. The code that uses them checks again.
 */
import { checkProtection } from '../apps/index.ts'
import { checkId, TENANT_UIDS } from '../base/index.ts'
import { checkPlan, checkTools } from '../builds/index.ts'
import { checkCertificateNames } from '../certificates/index.ts'
import { resources } from '../contract/index.ts'
import {
  checkDigest,
  MIGRATIONS,
  type Reader,
  type Row,
  type Statement,
  statement,
  type Value,
} from '../storage/index.ts'
import { SOURCES_SINCE } from './contents.ts'
import { DatabaseDamaged } from './damaged.ts'
import {
  branch,
  type Check,
  chunkBytes,
  count,
  digest,
  down,
  id,
  json,
  label,
  lineNumber,
  logName,
  nodeId,
  nodeRules,
  objectId,
  orNull,
  refName,
  repositoryUrl,
  requestCounts,
  serviceUser,
  targetKind,
  term,
  uid,
  valueBytes,
  valueName,
  words,
} from './row-checks.ts'

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
    table: 'apps',
    since: sinceOf('previews'),
    columns: { previews: json(resources.checkPreviewSettings) },
    read: (after) => statement`
      SELECT rowid AS at, previews FROM apps WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
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
    table: 'repositories',
    since: sinceOf('connected repositories'),
    columns: { environment_id: id, url: repositoryUrl, branch },
    read: (after) => statement`
      SELECT rowid AS at, environment_id, url, branch FROM repositories WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'repository_fetches',
    since: sinceOf('connected repositories'),
    columns: { environment_id: id, branch },
    read: (after) => statement`
      SELECT rowid AS at, environment_id, branch FROM repository_fetches WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'git_refs',
    since: sinceOf('repositories'),
    columns: { app_id: id, name: refName, target: objectId },
    read: (after) => statement`
      SELECT rowid AS at, app_id, name, target FROM git_refs WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'git_packs',
    since: sinceOf('repositories'),
    columns: { id, app_id: id, account_id: id, name: objectId, pack_digest: digest, index_digest: digest },
    read: (after) => statement`
      SELECT rowid AS at, id, app_id, account_id, name, pack_digest, index_digest FROM git_packs
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'content_snapshots',
    since: sinceOf('content snapshots'),
    columns: { build_id: id, account_id: id, environment_id: id, digest, answers: count, bytes: count },
    read: (after) => statement`
      SELECT rowid AS at, build_id, account_id, environment_id, digest, answers, bytes FROM content_snapshots
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'notification_targets',
    since: sinceOf('notices'),
    columns: { id, account_id: id, kind: targetKind, notice_kinds: json(words), apps: json(words) },
    read: (after) => statement`
      SELECT rowid AS at, id, account_id, kind, notice_kinds, apps FROM notification_targets
      WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    // Its id becomes a header of what is sent.
    table: 'notification_deliveries',
    since: sinceOf('notices'),
    columns: { id, attempts: count },
    read: (after) => statement`
      SELECT rowid AS at, id, attempts FROM notification_deliveries WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
  },
  {
    table: 'publishes',
    since: sinceOf('publishes'),
    columns: { id, environment_id: id, calls: count },
    read: (after) => statement`
      SELECT rowid AS at, id, environment_id, calls FROM publishes WHERE ${after} ORDER BY rowid LIMIT ${PAGE}`,
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
    const checks = Object.entries(columns)
    let after = statement`1 = 1`
    for (;;) {
      const rows = await reader.query<Row & { at: number }>(read(after))
      for (const row of rows) checkRow(table, checks, row)
      const last = rows.at(-1)
      if (!last || rows.length < PAGE) break
      after = statement`rowid > ${last.at}`
    }
  }
  await checkUsers(reader)
  const [hold] = await reader.query(statement`SELECT id FROM holds LIMIT 1`)
  if (hold) throw new DatabaseDamaged('it has holds, which no backup keeps')
}

function checkRow(table: string, checks: readonly [column: string, Check][], row: Row) {
  for (const [column, check] of checks) {
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
