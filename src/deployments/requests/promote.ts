/**
 * Promotion: what is live in one environment becomes live in another one of the same app. If a build of the target would see
 * the same as the build did, its output is used as it is, with the variables of the target at run time. Otherwise the same
 * archive is built for the target.
 */
import type { Account } from '../../accounts/index.ts'
import type { Environment, Environments } from '../../apps/index.ts'
import type { Build, Builds, Promotion, Sources } from '../../builds/index.ts'
import { Problem, type resources } from '../../contract/index.ts'
import type { Operation, OperationPath, Operations } from '../../operations/index.ts'
import type { Sql, Transaction } from '../../storage/index.ts'
import { differing, type GetBuildInputs } from '../deploy/build-inputs.ts'
import type { Deployments } from '../records/deployments.ts'
import { requireQueueSpace } from './queue-space.ts'
import type { BuildRequests } from './request-build.ts'
import { requireOpen } from './require-open.ts'

type Parts = {
  sql: Sql
  environments: Environments
  operations: Operations
  builds: Builds
  sources: Pick<Sources, 'current'>
  deployments: Pick<Deployments, 'require'>
  buildRequests: Pick<BuildRequests, 'upload' | 'postpone'>
  buildInputs: GetBuildInputs
  /** Throws if a build could not begin. */
  admitBuild(account: Account, environmentId: string): Promise<void>
}

type Wanted = {
  /** The ids of two environments of the app. */
  from: string
  to: string
  /** Whether the archive may be built where the output cannot be used. */
  mayBuild: boolean
  requestedBy: resources.Requester | null
}

export type Promoted = { operation: Operation; differing: string[] }

/** An earlier version built it, and did not record what it saw. */
const NOT_RECORDED = '(not recorded: the build was made by an earlier version)'

export function createPromote(parts: Parts) {
  const { sql, environments, operations, builds, sources, deployments, buildRequests } = parts

  async function liveBuild({ accountId, id, liveDeployment }: Environment): Promise<Build> {
    if (liveDeployment === null) throw new Problem('NOTHING_TO_PROMOTE')
    const path = { accountId, environmentId: id }
    const { buildId } = await deployments.require(path, liveDeployment)
    return builds.require(path, buildId)
  }

  return async function promote(account: Account, appName: string, wanted: Wanted): Promise<Promoted> {
    const { from, to, mayBuild, requestedBy } = wanted
    if (from === to) throw new Problem('NOTHING_TO_PROMOTE')
    const source = await environments.requireWhole(account.id, appName, from)
    const target = await environments.requireWhole(account.id, appName, to)
    const build = await liveBuild(source)
    const names = build.inputs ? differing(build.inputs, await parts.buildInputs(target)) : [NOT_RECORDED]
    if (names.length > 0 && !mayBuild) throw needsBuild(names)
    if (names.length > 0) await parts.admitBuild(account, to)
    const promotion = { environment: from, displayName: source.displayName, build: build.id, differing: names }

    const operation = await sql.transaction(async (tx) => {
      // In this transaction: while it is not being deleted, its output is there.
      await requireOpen(environments, tx, { account, appName, environmentId: from })
      const at = { account, appName, environmentId: to }
      const { path } = await requireOpen(environments, tx, at)
      if (names.length > 0) return buildRequests.upload(tx, at, { ...build.archive, promotion }, requestedBy)
      await requireQueueSpace(operations, tx, path)
      return useOutput(tx, path, { build, promotion, requestedBy })
    })
    operations.announce()
    return { operation, differing: names }
  }

  type Used = { build: Build; promotion: Promotion; requestedBy: resources.Requester | null }

  /** The record of the build in the target keeps the output, whatever becomes of the other environment. */
  async function useOutput(tx: Transaction, path: OperationPath, { build, promotion, requestedBy }: Used) {
    const id = builds.newId()
    const operation = await operations.request(tx, path, 'PROMOTE', { build: id, requestedBy })
    await builds.insertPromoted(tx, path, { id, operationId: operation.id, promotion })
    if ((await builds.require(path, id, tx)).output === null) throw new Problem('NOTHING_TO_PROMOTE')
    const current = await sources.current(tx, path.environmentId)
    if (current?.digest !== build.archive.digest) await buildRequests.postpone(tx, path)
    const { message = '', commit = null } = build.archive
    return { ...operation, message, commit }
  }
}

export type Promote = ReturnType<typeof createPromote>

function needsBuild(names: readonly string[]): Problem {
  const message = `A build of the target would see other values of: ${names.join(', ')}.`
  return new Problem('PROMOTION_NEEDS_BUILD', message, { metadata: { differing: names.join(',') } })
}
