/** What belongs to deployments in the records of builds and operations, for many deployments at a time. */
import type { BuildOutput, Builds, SourceArchive } from '../../builds/index.ts'
import type { OperationOrigin, Operations } from '../../operations/index.ts'
import { list, type Reader, type Sql, statement } from '../../storage/index.ts'
import type { Deployment } from './rows.ts'

/** Which request made a deployment, who sent it, and the archive of its build. */
export type Origin = OperationOrigin & { archive: SourceArchive }

/** `message` says why it is held. */
export type HeldDeployment = Pick<Deployment, 'id' | 'buildId' | 'createTime'> & { message: string }

export type LiveFacts = { liveTime: number | null; commit: SourceArchive['commit'] }

/** A statement takes a limited number of values. */
const AT_A_TIME = 500

type Row = { id: string; build_id: string; operation_id: string }
type HeldRow = { environment_id: string; id: string; build_id: string; create_time: number }

type Parts = {
  sql: Sql
  builds: Pick<Builds, 'archivesOf' | 'outputsOf' | 'suspicionsOf'>
  operations: Pick<Operations, 'originsOf'>
}

export function createRelatedRecords({ sql, builds, operations }: Parts) {
  const read = (reader: Reader, ids: readonly string[]): Promise<Row[]> =>
    reader.query<Row>(statement`SELECT id, build_id, operation_id FROM deployments WHERE id IN (${list(ids)})`)

  return {
    /** By the id of the deployment, for all deployments of a page. Those that do not exist any more are left out. */
    async origins(ids: readonly string[]): Promise<Map<string, Origin>> {
      if (ids.length === 0) return new Map()
      const rows = await read(sql, ids)
      const [archives, origins] = await Promise.all([
        builds.archivesOf(rows.map(({ build_id }) => build_id)),
        operations.originsOf(rows.map(({ operation_id }) => operation_id)),
      ])
      return new Map(
        rows.flatMap(({ id, build_id, operation_id }) => {
          const [archive, origin] = [archives.get(build_id), origins.get(operation_id)]
          return archive && origin ? [[id, { ...origin, archive }] as const] : []
        }),
      )
    },

    /** The builds of some deployments, by deployment. */
    async buildsOf(ids: readonly string[]): Promise<Map<string, string>> {
      if (ids.length === 0) return new Map()
      return new Map((await read(sql, ids)).map(({ id, build_id }) => [id, build_id]))
    },

    /** When each of these went live first, and the commit that it was built from. */
    async liveFactsOf(ids: readonly string[]): Promise<Map<string, LiveFacts>> {
      if (ids.length === 0) return new Map()
      const rows = await sql.query<{ id: string; build_id: string; live_time: number | null }>(
        statement`SELECT id, build_id, live_time FROM deployments WHERE id IN (${list(ids)})`,
      )
      const archives = await builds.archivesOf(rows.map(({ build_id }) => build_id))
      return new Map(
        rows.map(({ id, build_id, live_time }) => [
          id,
          { liveTime: live_time, commit: archives.get(build_id)?.commit ?? null },
        ]),
      )
    },

    /** Which output each deployment serves, and whether that is files or a server. */
    async outputsOf(ids: readonly string[], reader: Reader = sql): Promise<Map<string, BuildOutput>> {
      const found = new Map<string, BuildOutput>()
      for (let from = 0; from < ids.length; from += AT_A_TIME) {
        const rows = await read(reader, ids.slice(from, from + AT_A_TIME))
        const outputs = await builds.outputsOf(
          rows.map(({ build_id }) => build_id),
          reader,
        )
        for (const { id, build_id } of rows) {
          const output = outputs.get(build_id)
          if (output) found.set(id, output)
        }
      }
      return found
    },

    /** The newest of each environment that is held and can be made live. */
    async heldOf(environmentIds: readonly string[]): Promise<Map<string, HeldDeployment>> {
      if (environmentIds.length === 0) return new Map()
      const rows = await sql.query<HeldRow>(statement`
        SELECT environment_id, id, build_id, create_time FROM deployments
        WHERE environment_id IN (${list(environmentIds)}) AND state = 'HELD' AND discard_time IS NULL ORDER BY id`)
      const newest = new Map(rows.map((row) => [row.environment_id, row]))
      const suspicions = await builds.suspicionsOf([...newest.values()].map(({ build_id }) => build_id))
      return new Map(
        [...newest].map(([environmentId, { id, build_id, create_time }]) => {
          const { sentences = [] } = suspicions.get(build_id) ?? {}
          return [environmentId, { id, buildId: build_id, createTime: create_time, message: sentences.join(' ') }]
        }),
      )
    },
  }
}
