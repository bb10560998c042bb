/**
 * Discards the deployments of an environment that need not be kept. One transaction reads, decides and records the decision,
 * so that no request can activate a deployment at the moment when it is discarded. Then the files are removed; if the process
 * dies in between, the garbage collection finds files without a reference.
 */
import type { Environments } from '../apps/index.ts'
import type { Clock } from '../base/index.ts'
import type { BuildRetention, Outputs, PackageStore, RetainingBuild } from '../builds/index.ts'
import type { Deployments } from '../deployments/index.ts'
import type { Operations } from '../operations/index.ts'
import type { Instances } from '../runtime/index.ts'
import { type Digest, hasRetentionHold, type Reader, type Sql, type Term } from '../storage/index.ts'
import { type Decision, decide } from './decide.ts'

type Parts = {
  sql: Sql
  clock: Clock
  environments: Pick<Environments, 'byId'>
  operations: Pick<Operations, 'unfinishedOf'>
  deployments: Pick<Deployments, 'kept' | 'discard'>
  buildRetention: BuildRetention
  outputs: Pick<Outputs, 'remove'>
  packages: Pick<PackageStore, 'collect'>
  instances: Pick<Instances, 'holds'>
  keepDeployments: number
}

export function createRetain(parts: Parts) {
  const {
    sql,
    clock,
    environments,
    operations,
    deployments,
    buildRetention,
    outputs,
    packages,
    instances,
    keepDeployments,
  } = parts

  async function look(
    reader: Reader,
    environmentId: string,
  ): Promise<{ decision: Decision; holders: RetainingBuild[] }> {
    const environment = await environments.byId(reader, environmentId)
    const unfinished = await operations.unfinishedOf(reader, environmentId)
    const wanted = new Set(unfinished.flatMap(({ id, activates }) => [id, ...(activates ? [activates] : [])]))
    const known = await deployments.kept(reader, environmentId)
    const holders = await buildRetention.retainingBuilds(reader, environmentId)
    const archives = new Map(holders.map(({ id, archive }) => [id, archive]))
    const decision = decide({
      liveDeployment: environment?.liveDeployment ?? null,
      deployments: known.map((deployment) => ({
        ...deployment,
        // A build without an output has no deployment that was live, so its archive does not matter.
        archive: archives.get(deployment.buildId) ?? deployment.buildId,
        isWanted: wanted.has(deployment.id) || wanted.has(deployment.operationId),
        isRunning: instances.holds(deployment.id),
      })),
      builds: holders.map(({ id, isOver, output, packagesId }) => ({
        id,
        isOver,
        hasOutput: output !== null,
        hasPackages: packagesId !== null,
      })),
      keepDeployments,
    })
    return { decision, holders }
  }

  /** By a build, or by a backup that is copying the data folder. */
  async function isNeeded(digest: Digest): Promise<boolean> {
    return (await buildRetention.isOutputReferenced(digest)) || hasRetentionHold(sql, clock.now())
  }

  /** Resolves to what was discarded. `term`: nothing is discarded unless this process still leads. */
  return async function retain(environmentId: string, term?: Pick<Term, 'check'>): Promise<Decision> {
    // A read comes first: most of the time there is nothing to discard, and the write lock is not needed.
    const first = await look(sql, environmentId)
    if (isNothing(first.decision)) return first.decision

    const { decision, holders } = await sql.transaction(async (tx) => {
      await term?.check(tx)
      const seen = await look(tx, environmentId)
      await deployments.discard(
        tx,
        seen.decision.discard.map(({ deployment }) => deployment),
      )
      await buildRetention.release(tx, seen.decision)
      return seen
    })
    for (const digest of digestsOf(decision.outputs, holders)) await outputs.remove(digest, isNeeded)
    if (decision.packages.length > 0) await packages.collect()
    return decision
  }
}

export type Retain = ReturnType<typeof createRetain>

const isNothing = ({ discard, outputs, packages }: Decision): boolean =>
  discard.length + outputs.length + packages.length === 0

function digestsOf(builds: readonly string[], holders: readonly RetainingBuild[]): Set<Digest> {
  const spare = new Set(builds)
  return new Set(holders.flatMap(({ id, output }) => (spare.has(id) && output ? [output] : [])))
}
