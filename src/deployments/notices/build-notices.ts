/**
 * Records notices of builds: that one failed for good, that one succeeded after a failure, and that a deployment is live. Each is
 * part of the transaction that records the end, so it is recorded once, whatever dies when.
 */
import type { Accounts } from '../../accounts/index.ts'
import type { EnvironmentHead, Environments } from '../../apps/index.ts'
import type { Build, Builds } from '../../builds/index.ts'
import { names, Problem, type resources } from '../../contract/index.ts'
import type { Ending, OperationRecord } from '../../operations/index.ts'
import type { Transaction } from '../../storage/index.ts'
import type { SiteUrl } from '../describe.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Retries, Retry } from '../records/retries.ts'
import { type BuildNoticeKind, noticesOf } from './decide.ts'
import { buildNoticeText } from './texts.ts'

export type BuildNotice = {
  accountId: string
  kind: BuildNoticeKind
  appName: string
  environmentId: string
  resource: string
  title: string
  text: string
  /** A path of the portal. */
  link: string
}

type Parts = {
  accounts: Pick<Accounts, 'requireById'>
  environments: Pick<Environments, 'require'>
  builds: Pick<Builds, 'ofOperation' | 'require'>
  deployments: Pick<Deployments, 'find'>
  retries: Pick<Retries, 'of'>
  siteUrl: SiteUrl
  record(tx: Transaction, notice: BuildNotice): Promise<void>
  /** Whether a target of the account takes anything: without one, nothing is read. */
  isWanted(tx: Transaction, accountId: string): Promise<boolean>
}

type Ended = {
  trigger: resources.Trigger
  build: Build
  requestedBy: resources.Requester | null
  problem?: Pick<Problem, 'reason' | 'message'> | undefined
}

export function createBuildNotices(parts: Parts) {
  const { accounts, environments, builds, deployments, retries, siteUrl } = parts

  async function buildOf(tx: Transaction, operation: OperationRecord): Promise<Build | undefined> {
    if (operation.trigger !== 'ACTIVATE') return builds.ofOperation(tx, operation.id)
    const deployment = await deployments.find(tx, operation.activates ?? '')
    return deployment && builds.require(operation, deployment.buildId, tx)
  }

  async function record(tx: Transaction, kinds: readonly BuildNoticeKind[], environment: EnvironmentHead, end: Ended) {
    const { id: environmentId, accountId, appName, displayName, hostLabel } = environment
    const { name: account } = await accounts.requireById(tx, accountId)
    const resource = names.buildResource({ account, app: appName, environment: environmentId }, end.build.id)
    const facts = { ...end, appName, environment: displayName, siteUrl: hostLabel === null ? '' : siteUrl(hostLabel) }
    for (const kind of kinds) {
      const link = `/${account}/apps/${appName}/environments/${environmentId}/builds/${end.build.id}`
      const place = { accountId, appName, environmentId, resource, link }
      await parts.record(tx, { ...place, kind, ...buildNoticeText(kind, facts) })
    }
  }

  return {
    /** After an operation ended, whatever it was. */
    async ended(tx: Transaction, operation: OperationRecord, ending: Ending): Promise<void> {
      const { trigger, environmentId, accountId, appName, requestedBy } = operation
      if (!MAY_TELL.has(trigger) || !(await parts.isWanted(tx, accountId))) return
      const build = await buildOf(tx, operation)
      if (!build) return
      const problem = 'error' in ending ? ending.error : undefined
      const kinds = noticesOf({
        trigger,
        buildId: build.id,
        reason: problem?.reason ?? null,
        requestedBy,
        isUnchanged: build.isUnchanged,
        retry: (await retries.of([environmentId], tx)).get(environmentId),
      })
      if (kinds.length === 0) return
      const environment = await environments.require(accountId, appName, environmentId, tx)
      await record(tx, kinds, environment, { trigger, build, requestedBy, problem })
    },

    /** The service does not build it again by itself any more. Of a held build teams were told when it was held. */
    async givenUp(tx: Transaction, { environmentId, accountId, buildId }: Retry, appName: string): Promise<void> {
      if (!(await parts.isWanted(tx, accountId))) return
      const build = await builds.require({ accountId, environmentId }, buildId, tx).catch(ifForgotten)
      if (build?.state !== 'FAILED' || !build.failure) return
      const environment = await environments.require(accountId, appName, environmentId, tx)
      const { trigger, requestedBy, failure: problem } = build
      await record(tx, ['BUILD_FAILED'], environment, { trigger, build, requestedBy, problem })
    },
  }
}

export type BuildNotices = ReturnType<typeof createBuildNotices>

/** Old builds are removed by and by. */
function ifForgotten(error: unknown): undefined {
  if (!(error instanceof Problem)) throw error
}

const MAY_TELL: ReadonlySet<resources.Trigger> = new Set<resources.Trigger>([
  'UPLOAD',
  'REBUILD',
  'CLEAN_REBUILD',
  'ACTIVATE',
  'PROMOTE',
])
