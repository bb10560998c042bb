/** What a push to a branch does: it is deployed to the environments that name the branch, or to a preview where none does. */
import type { Account } from '../accounts/index.ts'
import type { App, Environments } from '../apps/index.ts'
import type { Clock } from '../base/index.ts'
import type { SourceArchive } from '../builds/index.ts'
import { names, type resources } from '../contract/index.ts'
import type { BuildRequests } from '../deployments/index.ts'
import type { Operation, Operations } from '../operations/index.ts'
import type { Sql } from '../storage/index.ts'
import type { Asked, Ledger } from '../triggers/index.ts'

type Parts = {
  sql: Sql
  environments: Pick<Environments, 'ofBranch'>
  operations: Pick<Operations, 'announce'>
  buildRequests: Pick<BuildRequests, 'upload'>
  ledger: Pick<Ledger, 'add'>
  clock: Clock
  previews: BranchPreviews
  /** Whether this machine may build for the account, and has the space. */
  admitBuild(account: Account, environmentId: string): Promise<void>
}

/** Environments that are made for a branch alone. */
export type BranchPreviews = {
  areEnabled(account: Account, appName: string): Promise<boolean>
  open(account: Account, appName: string, branch: string, requestedBy: By): Promise<{ id: string; displayName: string }>
  /** Deletes that of the branch, if there is one. */
  remove(account: Account, appName: string, branch: string, requestedBy: By): Promise<void>
}

type By = resources.Requester | null

export type Push = {
  account: Account
  app: Pick<App, 'id' | 'name'>
  branch: string
  requester: By
  /** Of the caller, where a person or a program called this service. */
  address?: string
  userAgent?: string
}

/** Where the commit was pushed to: here, or to a connected repository. */
type PushSource = Extract<resources.TriggerSource, 'PUSH' | 'REPOSITORY'>

/** An environment that a push is deployed to. */
export type Target = { id: string; displayName: string; isPreview: boolean }

export type Deployed = { environment: Target; operation: Operation }

export function createBranches(parts: Parts) {
  const { sql, clock, environments, operations, buildRequests, ledger, previews, admitBuild } = parts

  /** The preview is made before the build is requested. If that is refused, it stays empty, and is removed when it is idle. */
  async function previewOf({ account, app, branch, requester }: Push): Promise<Target[]> {
    if (branch === names.UPLOADABLE || !(await previews.areEnabled(account, app.name))) return []
    const { id, displayName } = await previews.open(account, app.name, branch, requester)
    return [{ id, displayName, isPreview: true }]
  }

  /** The environments that name the branch. */
  const targetsOf = ({ app, branch }: Pick<Push, 'app' | 'branch'>): Promise<Target[]> =>
    environments.ofBranch(app.id, branch)

  /** The environments that a push to the branch is deployed to: those that name it, or its preview, which is made here. */
  async function openTargets(push: Push): Promise<Target[]> {
    const named = await targetsOf(push)
    return named.length > 0 ? named : previewOf(push)
  }

  return {
    targetsOf,
    openTargets,

    /**
     * Requests the builds of a commit, all in one transaction. Where no environment names the branch it gets a preview; resolves
     * with none if the app has no previews.
     */
    async deploy(push: Push & { archive: SourceArchive; source?: PushSource }): Promise<Deployed[]> {
      const { account, app, archive, requester, source = 'PUSH', address = '', userAgent = '' } = push
      const targets = await openTargets(push)
      for (const { id } of targets) await admitBuild(account, id)
      if (targets.length === 0) return []
      const caller = { address, userAgent, requestedBy: requester, time: clock.now() }
      const asked: Asked = { action: 'DEPLOY', source, ...caller }
      const deployed = await sql.transaction(async (tx) => {
        const requested: Deployed[] = []
        for (const environment of targets) {
          const at = { account, appName: app.name, environmentId: environment.id }
          const operation = await buildRequests.upload(tx, at, archive, requester)
          await ledger.add(tx, environment.id, [asked], { answer: 200, operationId: operation.id })
          requested.push({ environment, operation })
        }
        return requested
      })
      operations.announce()
      return deployed
    },

    /** The branch is gone: its preview goes, too. Other environments that name it keep what is live. */
    async deleted({ account, app, branch, requester }: Push): Promise<void> {
      await previews.remove(account, app.name, branch, requester)
    },
  }
}

export type Branches = ReturnType<typeof createBranches>
