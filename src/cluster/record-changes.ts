/** Changes of apps and their instances. Each is a part of a transaction, which has the number that changed apps get. */
import type { resources } from '../contract/index.ts'
import { list, rows, statement, type Transaction } from '../storage/index.ts'
import { type AppRow, type InstanceRow, replicasWithin } from './rows.ts'

/** How many values are named in one statement. */
const AT_ONCE = 500

/** A transaction that changes apps, and the number that those get. */
export type Change = { tx: Transaction; revision: number }

/** What `start` and `adopt` write. */
export type NewApp = Omit<
  AppRow,
  'isGone' | 'isRetired' | 'retireTime' | 'crashes' | 'restarts' | 'revision' | 'kept'
> & {
  record: string
  visitTime: number
}

export const INSTANCE = statement`instance, deployment, node, address, port, state, is_listening, is_ready, ready_time, exit_code, reason,
  message`

export const CHANGES = {
  /** Adds it, or brings it back: it is awake then, or asleep without replicas, and none of its crashes count. */
  async put({ tx, revision }: Change, app: NewApp) {
    const { deployment, environment, account, region, image, record, generation, replicas, starter } = app
    const [service, scaling] = [JSON.stringify(app.service), JSON.stringify(app.scaling)]
    await tx.query(statement`
      INSERT INTO cluster_apps (deployment, environment, account, region, image, service, record, scaling, generation,
        replicas, kept, is_retired, is_gone, retire_time, starter, hold_time, crashes, restarts, busy, visit_time, revision)
      VALUES (${deployment}, ${environment}, ${account}, ${region}, ${image}, ${service}, ${record}, ${scaling}, ${generation},
        ${replicas}, 0, 0, 0, 0, ${starter}, ${app.holdTime}, 0, 0, 0, ${app.visitTime}, ${revision})
      ON CONFLICT (deployment) DO UPDATE SET
        environment = excluded.environment, account = excluded.account, region = excluded.region, image = excluded.image,
        service = excluded.service, record = excluded.record, scaling = excluded.scaling, generation = excluded.generation,
        replicas = excluded.replicas, kept = 0, is_retired = 0, is_gone = 0, retire_time = 0, starter = excluded.starter,
        hold_time = excluded.hold_time, crashes = 0, visit_time = excluded.visit_time, revision = excluded.revision`)
  },

  async setRecord({ tx, revision }: Change, deployment: string, record: string) {
    await tx.query(
      statement`UPDATE cluster_apps SET record = ${record}, revision = ${revision} WHERE deployment = ${deployment}`,
    )
  },

  async setAwake({ tx, revision }: Change, deployment: string, { replicas, time }: { replicas: number; time: number }) {
    await tx.query(statement`
      UPDATE cluster_apps SET replicas = ${replicas}, kept = 0, visit_time = ${time}, revision = ${revision}
      WHERE deployment = ${deployment} AND is_retired = 0`)
  },

  /** Where it is awake, it has as many instances as before, or the nearest number that it may have. */
  async setScaling({ tx, revision }: Change, deployment: string, scaling: resources.Scaling) {
    const [least, most] = [replicasWithin(scaling, 0), replicasWithin(scaling, scaling.maxInstances)]
    await tx.query(statement`
      UPDATE cluster_apps SET scaling = ${JSON.stringify(scaling)}, replicas = CASE WHEN replicas = 0 THEN 0
        WHEN replicas < ${least} THEN ${least} WHEN replicas > ${most} THEN ${most} ELSE replicas END, revision = ${revision}
      WHERE deployment = ${deployment}`)
  },

  /** Resolves to whether it was awake with the number of instances before. */
  async setReplicas(
    { tx, revision }: Change,
    deployment: string,
    { before, replicas }: { before: number; replicas: number },
  ): Promise<boolean> {
    const changed = await tx.query(statement`
      UPDATE cluster_apps SET replicas = ${replicas}, revision = ${revision}
      WHERE deployment = ${deployment} AND replicas = ${before} AND is_retired = 0 RETURNING deployment`)
    return changed.length > 0
  },

  /** Its instances stay until requests in flight have ended. Resolves to whether it was awake, and not visited after the time. */
  async setAsleep({ tx, revision }: Change, deployment: string, unvisitedSince: number): Promise<boolean> {
    const changed = await tx.query(statement`
      UPDATE cluster_apps SET kept = replicas, replicas = 0, revision = ${revision}
      WHERE deployment = ${deployment} AND replicas > 0 AND is_retired = 0 AND visit_time <= ${unvisitedSince}
      RETURNING deployment`)
    return changed.length > 0
  },

  /** With a starter, only what that start has written. */
  async setRetired(
    { tx, revision }: Change,
    deployment: string,
    { isDrained, time, starter }: { isDrained: boolean; time: number; starter?: string },
  ) {
    const mine = starter === undefined ? statement`1 = 1` : statement`starter = ${starter}`
    await tx.query(statement`
      UPDATE cluster_apps SET kept = CASE WHEN ${isDrained ? 1 : 0} = 0 THEN 0 WHEN replicas > 0 THEN replicas ELSE kept END,
        replicas = 0, is_retired = 1, retire_time = ${time}, revision = ${revision}
      WHERE deployment = ${deployment} AND is_gone = 0 AND (is_retired = 0 OR ${isDrained ? 1 : 0} = 0) AND ${mine}`)
  },

  /** Requests in flight have ended. One that is awake again has none to wait for. */
  async setDrained({ tx, revision }: Change, deployments: readonly string[]) {
    await inParts(deployments, (some) =>
      tx.query(
        statement`UPDATE cluster_apps SET kept = 0, revision = ${revision} WHERE kept > 0 AND deployment IN (${list(some)})`,
      ),
    )
  },

  /** Retired ones without an instance. What is secret is not kept any longer. */
  async setGone({ tx, revision }: Change) {
    await tx.query(statement`
      UPDATE cluster_apps SET is_gone = 1, record = '', revision = ${revision}
      WHERE is_retired = 1 AND is_gone = 0 AND kept = 0 AND NOT EXISTS (
        SELECT instance FROM cluster_instances seen WHERE seen.deployment = cluster_apps.deployment)`)
  },

  /** The newest one stays: it shows that the database has known apps. */
  async removeGone({ tx }: Change, before: number) {
    await tx.query(statement`
      DELETE FROM cluster_apps WHERE is_gone = 1 AND retire_time < ${before}
        AND revision < (SELECT MAX(revision) FROM cluster_apps)`)
  },

  async setCrashes({ tx, revision }: Change, { deployment, crashes, restarts }: Crashes) {
    await tx.query(statement`
      UPDATE cluster_apps SET crashes = ${crashes}, restarts = ${restarts}, revision = ${revision}
      WHERE deployment = ${deployment}`)
  },

  /** Something about their instances has changed. */
  async touch({ tx, revision }: Change, deployments: readonly string[]) {
    await inParts(deployments, (some) =>
      tx.query(statement`UPDATE cluster_apps SET revision = ${revision} WHERE deployment IN (${list(some)})`),
    )
  },

  async putInstances({ tx }: Change, instances: readonly InstanceRow[]) {
    await inParts(instances, (some) =>
      tx.query(statement`
        INSERT INTO cluster_instances (${INSTANCE}) VALUES ${rows(some.map(valuesOf))}
        ON CONFLICT (instance) DO UPDATE SET
          node = excluded.node, address = excluded.address, port = excluded.port, state = excluded.state,
          is_listening = excluded.is_listening, is_ready = excluded.is_ready, ready_time = excluded.ready_time,
          exit_code = excluded.exit_code, reason = excluded.reason, message = excluded.message`),
    )
  },

  async removeInstances({ tx }: Change, instances: readonly string[]) {
    await inParts(instances, (some) =>
      tx.query(statement`DELETE FROM cluster_instances WHERE instance IN (${list(some)})`),
    )
  },

  /** Not those of an instance that has ended meanwhile. */
  async setAnswer({ tx, revision }: Change, row: InstanceRow, { isReady, time }: { isReady: boolean; time: number }) {
    const [changed] = await tx.query(statement`
      UPDATE cluster_instances SET is_listening = 1, is_ready = ${isReady ? 1 : 0}, ready_time = ${isReady ? time : 0}
      WHERE instance = ${row.instance} AND state = 'RUNNING' RETURNING instance`)
    if (!changed) return
    await tx.query(statement`
      UPDATE cluster_apps SET revision = ${revision}, visit_time = CASE WHEN visit_time < ${time} THEN ${time} ELSE visit_time END
      WHERE deployment = ${row.deployment}`)
  },
}

type Crashes = Pick<AppRow, 'deployment' | 'crashes' | 'restarts'>

export async function inParts<Item, Result>(
  items: readonly Item[],
  work: (some: readonly Item[]) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let at = 0; at < items.length; at += AT_ONCE) results.push(...(await work(items.slice(at, at + AT_ONCE))))
  return results
}

const valuesOf = (row: InstanceRow) => [
  row.instance,
  row.deployment,
  row.node,
  row.address,
  row.port,
  row.state,
  row.isListening ? 1 : 0,
  row.isReady ? 1 : 0,
  row.readyTime,
  row.exitCode,
  row.reason,
  row.message,
]
