/**
 * Previews as users get them: an environment of a branch, made by the first deployment of it. It has the settings of another
 * environment of the app, and is never for search engines. One transaction looks for it and makes it, so two deployments
 * of a new branch at the same time share one preview.
 */
import type { Account } from '../accounts/index.ts'
import {
  type App,
  type Apps,
  appEtag,
  type Environment,
  type Environments,
  type Preconditions,
  type PreviewRecords,
  previewName,
  requireEtag,
} from '../apps/index.ts'
import type { Clock } from '../base/index.ts'
import { aboveCeiling, fieldInvalid, isAbove, Problem, type resources } from '../contract/index.ts'
import type { Requests, Routing } from '../deployments/index.ts'
import type { Operations } from '../operations/index.ts'
import type { Sql, Transaction } from '../storage/index.ts'

type Parts = {
  sql: Sql
  clock: Clock
  apps: Pick<Apps, 'require' | 'setPreviews'>
  environments: Environments
  operations: Pick<Operations, 'request' | 'announce'>
  records: PreviewRecords
  requests: Pick<Requests, 'deleteEnvironment'>
  routing: Pick<Routing, 'publish'>
  /** How many environments an account may have; 0 for no limit. */
  maxEnvironments: number
}

type By = resources.Requester | null

export function createPreviews(parts: Parts) {
  const { sql, clock, apps, environments, operations, records, requests, routing, maxEnvironments } = parts

  async function make(
    tx: Transaction,
    { account, app, branch, requestedBy }: { account: Account; app: App; branch: string; requestedBy: By },
  ): Promise<Environment> {
    await requirePlace(tx, app)
    const base = await records.baseOf(tx, app)
    if (!base) throw new Problem('PREVIEW_WITHOUT_ENVIRONMENT')
    const id = environments.newId()
    await environments.insert(tx, { id: app.id, accountId: account.id }, id, {
      displayName: previewName(branch, await records.namesOf(tx, app.id)),
      branch,
      previewBranch: branch,
      cmsEnvironment: base.cmsEnvironment,
      rootDirectory: base.rootDirectory,
      suspiciousOutput: base.suspiciousOutput,
      promotionChecks: base.promotionChecks,
      contentSnapshots: base.contentSnapshots,
      protection: base.protection,
      variables: [],
    })
    if (isAbove(await environments.count(account.id, tx), maxEnvironments))
      throw aboveCeiling('ENVIRONMENTS', maxEnvironments)
    const made = await requireById(tx, id)
    // So that its address is known before a worker makes the edge answer for it.
    await environments.assignHostLabel(tx, made)
    await environments.assignUid(tx, made)
    await operations.request(tx, { accountId: account.id, appName: app.name, environmentId: id }, 'CREATE', {
      requestedBy,
    })
    return requireById(tx, id)
  }

  async function requirePlace(tx: Transaction, { id, name, previews: { isEnabled, maxCount } }: App) {
    if (!isEnabled) throw new Problem('PREVIEWS_DISABLED', `The app ${name} is set to have no previews.`)
    const [idle, ...others] = await records.ofApp(tx, id)
    if (!idle || others.length + 1 < maxCount) return
    throw new Problem(
      'PREVIEW_LIMIT',
      `The app ${name} has ${maxCount} previews, and may have no more. ${idle.displayName} was idle for longest.`,
      { metadata: { limit: String(maxCount), idle: idle.displayName } },
    )
  }

  async function requireById(tx: Transaction, id: string): Promise<Environment> {
    const found = await environments.byId(tx, id)
    if (!found) throw new Problem('ENVIRONMENT_NOT_FOUND')
    return found
  }

  return {
    /** The preview of a branch, which is made if there is none. */
    async open(account: Account, appName: string, branch: string, requestedBy: By): Promise<Environment> {
      const opened = await sql.transaction(async (tx) => {
        const app = await apps.require(account.id, appName, tx)
        const found = await records.find(tx, app.id, branch)
        if (!found) return make(tx, { account, app, branch, requestedBy })
        await records.setActive(tx, found.id, clock.now())
        return requireById(tx, found.id)
      })
      operations.announce()
      return opened
    },

    /** Deletes the preview of a branch, if there is one. */
    async remove(account: Account, appName: string, branch: string, requestedBy: By): Promise<void> {
      const app = await apps.require(account.id, appName)
      const found = await records.find(sql, app.id, branch)
      if (found) await requests.deleteEnvironment({ account, appName, environmentId: found.id }, { requestedBy })
    },

    /** Whether a branch without an environment gets one. */
    areEnabled: async (account: Account, appName: string): Promise<boolean> =>
      (await apps.require(account.id, appName)).previews.isEnabled,

    async changeSettings(
      account: Account,
      appName: string,
      { given, preconditions }: { given: resources.ChangedPreviewSettings; preconditions: Preconditions },
    ): Promise<App> {
      const changed = await sql.transaction(async (tx) => {
        const app = await apps.require(account.id, appName, tx)
        requireEtag(preconditions, appEtag(app), 'app')
        const { previews: before } = app
        const previews: resources.PreviewSettings = {
          isEnabled: given.enabled ?? before.isEnabled,
          environment:
            given.environment === undefined ? before.environment : await chosen(tx, account, app, given.environment),
          hasSecrets: given.secrets ?? before.hasSecrets,
          maxCount: given.maxCount ?? before.maxCount,
          idleDays: given.idleDays ?? before.idleDays,
        }
        await apps.setPreviews(tx, app, account.id, previews)
        await records.followProtection(tx, app.id)
        return { ...app, previews }
      })
      await routing.publish()
      return changed
    },
  }

  /** The id of an environment that is given by its name or its id; null for an empty text. */
  async function chosen(tx: Transaction, account: Account, app: App, given: string): Promise<string | null> {
    if (given === '') return null
    const id = given.slice(given.lastIndexOf('/') + 1)
    const found = await environments.require(account.id, app.name, id, tx).catch(() => undefined)
    if (!found || found.state === 'DELETING')
      throw fieldInvalid('previews.environment', 'must be an environment of this app, or empty')
    if (found.preview) throw fieldInvalid('previews.environment', 'must not be a preview itself')
    return found.id
  }
}

export type Previews = ReturnType<typeof createPreviews>
