/** What changed since the last successful build: the first place to look after a failure. */
import { allVariables, type Environment, type SealedVariable, type Variables } from '../apps/index.ts'
import type { Archives } from '../archives/index.ts'
import { type Build, type BuildFacts, type Builds, changesSince, describeChanges } from '../builds/index.ts'
import type { Deployments } from './records/deployments.ts'

type Parts = { archives: Archives; builds: Builds; deployments: Deployments; variables: Variables }

export function createBlame({ archives, builds, deployments, variables }: Parts) {
  async function factsOf(
    environment: Environment,
    build: Build,
    sealed: readonly SealedVariable[],
  ): Promise<BuildFacts> {
    const { plan, tools, archive, isClean } = build
    const files = Object.fromEntries(await archives.checksums(archive.digest))
    const manager = tools?.packageManager
    return {
      archive: archive.digest,
      node: tools?.node ?? null,
      packageManager: manager ? `${manager.name} ${manager.version}` : null,
      lockfile: files[plan?.packageManager?.lockfile ?? ''] ?? null,
      variables: Object.fromEntries(variables.open(environment.id, sealed).map(({ key, value }) => [key, value])),
      rootDirectory: plan?.rootDirectory ?? environment.rootDirectory,
      files,
      isClean,
    }
  }

  /** Empty if no earlier build succeeded. */
  return async function blame(environment: Environment, failed: Build): Promise<string[]> {
    const good = await builds.lastGood(environment.id, failed.id)
    if (!good) return []
    const path = { accountId: environment.accountId, environmentId: environment.id }
    const now = await builds.require(path, failed.id)
    const before = (await deployments.leftBy(good.operationId))?.variables ?? allVariables(environment)
    return describeChanges(
      changesSince(
        await factsOf(environment, now, allVariables(environment)),
        await factsOf(environment, good, before),
      ),
    )
  }
}

export type Blame = ReturnType<typeof createBlame>
