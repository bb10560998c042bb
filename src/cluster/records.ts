/** Reads the tables of apps and their instances. Statements that change them are in `record-changes.ts`. */
import type { resources } from '../contract/index.ts'
import { list, type Reader, type Row, rows, type Sql, statement, type Term } from '../storage/index.ts'
import { CHANGES, type Change, INSTANCE, inParts } from './record-changes.ts'
import type { AppRow, AwakeRow, InstanceRow, ServiceShape } from './rows.ts'
import { createUseRecords } from './use-records.ts'

/** No account has a name like this: followers of it are told of changes of apps. */
export const HINTS = 'cluster apps'

const APP = statement`deployment, environment, account, region, image, service, scaling, generation, replicas, kept, is_retired,
  is_gone, retire_time, starter, hold_time, crashes, restarts, revision`

/** As text; empty where nothing was read. */
export type OutputChange = { instance: string; output: string; before: string }

export type AppRecords = ReturnType<typeof createAppRecords>

export function createAppRecords(sql: Sql) {
  return {
    /** Numbers rise in the order of the commits, so these transactions exclude each other. With a term, only its leader commits. */
    change: <T>(work: (change: Change) => Promise<T>, term?: Pick<Term, 'check'>): Promise<T> =>
      sql.transaction(
        async (tx) => {
          await term?.check(tx)
          const [row] = await tx.query<{ last: number | null }>(
            statement`SELECT MAX(revision) AS last FROM cluster_apps`,
          )
          const result = await work({ tx, revision: (row?.last ?? 0) + 1 })
          tx.notify(HINTS, '')
          return result
        },
        { exclusive: 'apps' },
      ),

    /** How many are not gone, and the highest number. */
    async position(): Promise<{ apps: number; last: number }> {
      const [row] = await sql.query<{ apps: number | null; last: number | null }>(
        statement`SELECT SUM(1 - is_gone) AS apps, MAX(revision) AS last FROM cluster_apps`,
      )
      return { apps: Number(row?.apps ?? 0), last: Number(row?.last ?? 0) }
    },

    since: async (revision: number): Promise<AppRow[]> =>
      (await sql.query(statement`SELECT ${APP} FROM cluster_apps WHERE revision > ${revision}`)).map(toApp),

    /** Those that are not gone. */
    all: async (reader: Reader = sql): Promise<AppRow[]> =>
      (await reader.query(statement`SELECT ${APP} FROM cluster_apps WHERE is_gone = 0`)).map(toApp),

    async named(deployments: readonly string[], reader: Reader = sql): Promise<AppRow[]> {
      const found = await inParts(deployments, (some) =>
        reader.query(statement`SELECT ${APP} FROM cluster_apps WHERE deployment IN (${list(some)})`),
      )
      return found.map(toApp)
    },

    async instancesOf(deployments: readonly string[], reader: Reader = sql): Promise<InstanceRow[]> {
      const found = await inParts(deployments, (some) =>
        reader.query(statement`SELECT ${INSTANCE} FROM cluster_instances WHERE deployment IN (${list(some)})`),
      )
      return found.map(toInstance)
    },

    allInstances: async (reader: Reader = sql): Promise<InstanceRow[]> =>
      (await reader.query(statement`SELECT ${INSTANCE} FROM cluster_instances`)).map(toInstance),

    /** Whether there is any row, be it of an app that is gone. */
    async hasAny(reader: Reader = sql): Promise<boolean> {
      return (await reader.query(statement`SELECT deployment FROM cluster_apps LIMIT 1`)).length > 0
    },

    /** Sealed; undefined where there is none. */
    async recordOf(deployment: string, reader: Reader = sql): Promise<string | undefined> {
      const [row] = await reader.query<{ record: string }>(
        statement`SELECT record FROM cluster_apps WHERE deployment = ${deployment}`,
      )
      return row?.record
    },

    /** Of an account, or of all. */
    async awakeOf(account: string | undefined, reader: Reader = sql): Promise<AwakeRow[]> {
      const which = account === undefined ? statement`1 = 1` : statement`account = ${account}`
      const found = await reader.query(statement`
        SELECT ${APP}, visit_time, memory, (
            SELECT COUNT(*) FROM cluster_instances ready
            WHERE ready.deployment = cluster_apps.deployment AND ready.is_ready = 1) AS ready, (
            SELECT AVG(used.memory) FROM cluster_instances used
            WHERE used.deployment = cluster_apps.deployment AND used.state = 'RUNNING' AND used.memory > 0) AS used
        FROM cluster_apps WHERE ${which} AND replicas > 0 AND is_retired = 0`)
      return found.map((row) => ({
        ...toApp(row),
        visitTime: Number(row.visit_time),
        ready: Number(row.ready),
        eachBytes: Math.round(Number(row.used ?? row.memory)),
      }))
    },

    /** What one instance of it used when it was measured last. */
    async eachBytesOf(deployment: string, reader: Reader = sql): Promise<number> {
      const [row] = await reader.query<{ memory: number }>(
        statement`SELECT memory FROM cluster_apps WHERE deployment = ${deployment}`,
      )
      return Number(row?.memory ?? 0)
    },

    /** Awake, with an instance that answers, and without a visit since. */
    unvisitedSince: async (time: number): Promise<AppRow[]> =>
      (
        await sql.query(statement`
          SELECT ${APP} FROM cluster_apps WHERE replicas > 0 AND is_retired = 0 AND visit_time <= ${time} AND EXISTS (
            SELECT instance FROM cluster_instances ready
            WHERE ready.deployment = cluster_apps.deployment AND ready.is_ready = 1)`)
      ).map(toApp),

    /** By deployment, of those whose requests in flight have to end. */
    async busyOnes(): Promise<Map<string, number>> {
      const found = await sql.query<{ deployment: string; busy: number }>(
        statement`SELECT deployment, busy FROM cluster_apps WHERE kept > 0`,
      )
      return new Map(found.map(({ deployment, busy }) => [deployment, busy]))
    },

    /** Requests in flight were seen. */
    async setBusy(deployments: readonly string[]) {
      await sql.transaction((tx) =>
        inParts(deployments, (some) =>
          tx.query(statement`UPDATE cluster_apps SET busy = busy + 1 WHERE kept > 0 AND deployment IN (${list(some)})`),
        ),
      )
    },

    async setVisited(deployments: readonly string[], time: number) {
      await sql.transaction((tx) =>
        inParts(deployments, (some) =>
          tx.query(statement`
            UPDATE cluster_apps SET visit_time = ${time} WHERE visit_time < ${time} AND deployment IN (${list(some)})`),
        ),
      )
    },

    /** How far the output of instances was read, by instance. */
    async outputs(deployment?: string): Promise<Map<string, string>> {
      const which = deployment === undefined ? statement`1 = 1` : statement`deployment = ${deployment}`
      const found = await sql.query<{ instance: string; output: string | null }>(
        statement`SELECT instance, output FROM cluster_instances WHERE ${which}`,
      )
      return new Map(found.map(({ instance, output }) => [instance, output ?? '']))
    },

    /** No process follows these, so they have no number. Without a term, only where the row has what was there before. */
    async setOutputs(outputs: readonly OutputChange[], term?: Pick<Term, 'check'>) {
      await sql.transaction(async (tx) => {
        await term?.check(tx)
        await inParts(outputs, (some) =>
          tx.query(statement`
            UPDATE cluster_instances SET output = given.column2
            FROM (VALUES ${rows(some.map(({ instance, output, before }) => [instance, output, before]))}) AS given
            WHERE instance = given.column1 AND (${term ? 1 : 0} = 1 OR COALESCE(output, '') = given.column3)`),
        )
      })
    },

    async hasEnding(): Promise<boolean> {
      const found = await sql.query(
        statement`SELECT deployment FROM cluster_apps WHERE is_retired = 1 AND is_gone = 0 AND kept = 0 LIMIT 1`,
      )
      return found.length > 0
    },

    ...createUseRecords(sql),
    ...CHANGES,
  }
}

const toApp = (row: Row): AppRow => ({
  deployment: String(row.deployment),
  environment: String(row.environment),
  account: String(row.account),
  region: String(row.region),
  image: String(row.image),
  service: JSON.parse(String(row.service)) as ServiceShape,
  scaling: JSON.parse(String(row.scaling)) as resources.Scaling,
  generation: Number(row.generation),
  replicas: Number(row.replicas),
  kept: Number(row.kept),
  isRetired: row.is_retired !== 0,
  isGone: row.is_gone !== 0,
  retireTime: Number(row.retire_time),
  starter: String(row.starter),
  holdTime: Number(row.hold_time),
  crashes: Number(row.crashes),
  restarts: Number(row.restarts),
  revision: Number(row.revision),
})

const toInstance = (row: Row): InstanceRow => ({
  instance: String(row.instance),
  deployment: String(row.deployment),
  node: row.node as string | null,
  address: row.address as string | null,
  port: row.port as number | null,
  state: row.state as InstanceRow['state'],
  isListening: row.is_listening !== 0,
  isReady: row.is_ready !== 0,
  readyTime: Number(row.ready_time),
  exitCode: row.exit_code as number | null,
  reason: row.reason as InstanceRow['reason'],
  message: String(row.message),
})
