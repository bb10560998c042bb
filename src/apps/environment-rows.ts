/** What is known of an environment, and how a row of the table becomes one. */
import { resources } from '../contract/index.ts'
import { statement } from '../storage/index.ts'
import { readPreviewSettings } from './apps.ts'
import { readProtection, type StoredProtection } from './protection.ts'
import type { SealedVariable } from './variables.ts'

export type Environment = {
  id: string
  accountId: string
  appId: string
  appName: string
  displayName: string
  branch: string
  cmsEnvironment: string
  rootDirectory: string
  suspiciousOutput: resources.SuspiciousOutput
  promotionChecks: resources.PromotionChecks
  contentSnapshots: resources.ContentSnapshots
  scaling: resources.Scaling
  isProduction: boolean
  protection: StoredProtection
  /** Null for an environment that is no preview. */
  preview: PreviewOf | null
  /** Whether everyone may see its state. */
  hasBadge: boolean
  /** How long a publish may take; null where nothing is promised. */
  publishPromiseSeconds: number | null
  /** Null where the edge keeps only what the app allows. */
  learnedCaching: resources.LearnedCaching | null
  variables: SealedVariable[]
  /** Of a preview: what its last build had from another environment. Its own variables win. */
  inherited: SealedVariable[]
  hostLabel: string | null
  /** The user that its code runs as, if the service can choose users. */
  uid: number | null
  liveDeployment: string | null
  state: resources.EnvironmentState
  createTime: number
  updateTime: number
}

/** `activeTime`: its last deployment, or a visit after it. `hasOwnProtection`: a user has set who may see it. */
export type PreviewOf = { branch: string; activeTime: number; expireTime: number; hasOwnProtection: boolean }

/** An environment for which the edge answers. */
export type RoutableEnvironment = Pick<
  Environment,
  'id' | 'liveDeployment' | 'isProduction' | 'protection' | 'learnedCaching'
> & {
  hostLabel: string
}

export type LiveEnvironment = Pick<Environment, 'id' | 'accountId' | 'appName' | 'displayName' | 'hostLabel'> & {
  liveDeployment: string
}

/** Without its variables, which may be half a megabyte: most requests do not need them. */
export type EnvironmentHead = Omit<Environment, 'variables' | 'inherited'>

export type EnvironmentDraft = Pick<
  Environment,
  'displayName' | 'branch' | 'cmsEnvironment' | 'rootDirectory' | 'variables'
> &
  Partial<
    Pick<
      Environment,
      | 'suspiciousOutput'
      | 'promotionChecks'
      | 'contentSnapshots'
      | 'scaling'
      | 'isProduction'
      | 'protection'
      | 'hasBadge'
      | 'publishPromiseSeconds'
      | 'learnedCaching'
    >
  > & {
    /** For a preview. */
    previewBranch?: string
  }
export type EnvironmentChange = Partial<Omit<EnvironmentDraft, 'previewBranch'>>

export type HeadRow = Omit<EnvironmentRow, 'shell_variables' | 'inherited_variables'>

export type EnvironmentRow = {
  id: string
  account_id: string
  app_id: string
  app_name: string
  display_name: string
  branch: string
  cms_environment: string
  root_directory: string
  suspicious_output: string | null
  promotion_checks: string | null
  content_snapshots: string | null
  scaling: string | null
  is_production: number
  protection: string | null
  preview_branch: string | null
  active_time: number
  has_own_protection: number
  app_previews: string | null
  has_badge: number
  publish_promise_seconds: number | null
  learned_caching: string | null
  shell_variables: string
  inherited_variables: string
  host_label: string | null
  uid: number | null
  live_deployment: string | null
  state: Environment['state']
  create_time: number
  update_time: number
}

export type RoutableRow = Pick<
  EnvironmentRow,
  'id' | 'live_deployment' | 'is_production' | 'protection' | 'learned_caching'
> & {
  host_label: string
}

export type LiveRow = Pick<EnvironmentRow, 'id' | 'account_id' | 'app_name' | 'display_name' | 'host_label'> & {
  live_deployment: string
}

const headColumns = statement`e.id, e.account_id, e.app_id, a.name AS app_name, e.display_name, e.branch,
  e.cms_environment, e.root_directory, e.suspicious_output, e.promotion_checks, e.content_snapshots, e.scaling,
  e.is_production, e.protection, e.has_badge, e.publish_promise_seconds, e.learned_caching, e.preview_branch, e.active_time,
  e.has_own_protection, a.previews AS app_previews, e.host_label, e.uid, e.live_deployment, e.state, e.create_time,
  e.update_time`

export const selectedHead = statement`SELECT ${headColumns} FROM environments e JOIN apps a ON a.id = e.app_id`
export const selected = statement`
  SELECT ${headColumns}, e.shell_variables, e.inherited_variables FROM environments e JOIN apps a ON a.id = e.app_id`

export const toEnvironment = (row: EnvironmentRow): Environment => ({
  ...toHead(row),
  variables: JSON.parse(row.shell_variables),
  inherited: JSON.parse(row.inherited_variables),
})

export const toHead = (row: HeadRow): EnvironmentHead => ({
  id: row.id,
  accountId: row.account_id,
  appId: row.app_id,
  appName: row.app_name,
  displayName: row.display_name,
  branch: row.branch,
  cmsEnvironment: row.cms_environment,
  rootDirectory: row.root_directory,
  suspiciousOutput:
    row.suspicious_output === null ? resources.DEFAULT_SUSPICIOUS_OUTPUT : JSON.parse(row.suspicious_output),
  promotionChecks: resources.readPromotionChecks(row.promotion_checks),
  contentSnapshots: row.content_snapshots === null ? null : JSON.parse(row.content_snapshots),
  scaling: row.scaling === null ? resources.DEFAULT_SCALING : resources.checkScaling(JSON.parse(row.scaling)),
  isProduction: row.is_production === 1,
  protection: readProtection(row.protection),
  preview: previewOf(row),
  hasBadge: row.has_badge === 1,
  publishPromiseSeconds: row.publish_promise_seconds,
  learnedCaching: readLearnedCaching(row.learned_caching),
  hostLabel: row.host_label,
  uid: row.uid,
  liveDeployment: row.live_deployment,
  state: row.state,
  createTime: row.create_time,
  updateTime: row.update_time,
})

const readLearnedCaching = (stored: string | null): resources.LearnedCaching | null =>
  stored === null ? null : JSON.parse(stored)

export const toRoutable = (row: RoutableRow): RoutableEnvironment => ({
  id: row.id,
  hostLabel: row.host_label,
  liveDeployment: row.live_deployment,
  isProduction: row.is_production === 1,
  protection: readProtection(row.protection),
  learnedCaching: readLearnedCaching(row.learned_caching),
})

const DAY_MS = 24 * 60 * 60_000

function previewOf(row: HeadRow): PreviewOf | null {
  if (row.preview_branch === null) return null
  const { idleDays } = readPreviewSettings(row.app_previews)
  return {
    branch: row.preview_branch,
    activeTime: row.active_time,
    expireTime: row.active_time + idleDays * DAY_MS,
    hasOwnProtection: row.has_own_protection === 1,
  }
}
