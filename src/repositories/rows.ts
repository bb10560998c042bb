/** The rows of connected repositories and of what is to be fetched, as the other files of this module see them. */
import type { Reason, resources } from '../contract/index.ts'
import { statement } from '../storage/index.ts'
import type { Asked } from '../triggers/index.ts'

/** What users set, but for secrets. */
export type RepositoryPlan = {
  url: string
  branch: string
  provider: resources.RepositoryProvider | null
  username: string
  publicKey: string
  knownHosts: string
  pollMinutes: number | null
  sendsStatuses: boolean
}

export type StoredProblem = { reason: Reason; message: string; time: number; retryTime?: number }

export type RepositoryRecord = RepositoryPlan & {
  environmentId: string
  sealedToken: string | null
  sealedKey: string | null
  sealedHookSecret: string
  lastCommit: string | null
  lastFetchTime: number | null
  lastOperation: string | null
  problem: StoredProblem | null
  statusProblem: StoredProblem | null
  /** Rises with every change by a user. */
  revision: number
  createTime: number
  updateTime: number
}

export type Wish = {
  branch: string
  isOwn: boolean
  /** How often it was asked for, ever: whether it was again while it is being done. */
  wishes: number
  /** Those who asked and have no answer yet; the first of them, where there are many. */
  asked: Asked[]
  attempts: number
}

/** Work on one branch that this process alone does, until the lease ends. */
export type Claim = { repository: RepositoryRecord; wish: Wish; lease: string }

export type Row = {
  environment_id: string
  url: string
  branch: string
  provider: resources.RepositoryProvider | null
  username: string
  sealed_token: string | null
  sealed_key: string | null
  public_key: string
  known_hosts: string
  sealed_hook_secret: string
  poll_minutes: number | null
  sends_statuses: number
  last_commit: string | null
  last_fetch_time: number | null
  last_operation: string | null
  problem: string | null
  status_problem: string | null
  revision: number
  create_time: number
  update_time: number
}

export type WishRow = { branch: string; is_own: number; wishes: number; asked: string; attempts: number }

export const columns = statement`environment_id, url, branch, provider, username, sealed_token, sealed_key, public_key, known_hosts,
  sealed_hook_secret, poll_minutes, sends_statuses, last_commit, last_fetch_time, last_operation, problem, status_problem, revision,
  create_time, update_time`

export const toWish = (row: WishRow): Wish => ({
  branch: row.branch,
  isOwn: Boolean(row.is_own),
  wishes: row.wishes,
  asked: JSON.parse(row.asked),
  attempts: row.attempts,
})

export const toRecord = (row: Row): RepositoryRecord => ({
  environmentId: row.environment_id,
  url: row.url,
  branch: row.branch,
  provider: row.provider,
  username: row.username,
  sealedToken: row.sealed_token,
  sealedKey: row.sealed_key,
  publicKey: row.public_key,
  knownHosts: row.known_hosts,
  sealedHookSecret: row.sealed_hook_secret,
  pollMinutes: row.poll_minutes,
  sendsStatuses: Boolean(row.sends_statuses),
  lastCommit: row.last_commit,
  lastFetchTime: row.last_fetch_time,
  lastOperation: row.last_operation,
  problem: row.problem === null ? null : JSON.parse(row.problem),
  statusProblem: row.status_problem === null ? null : JSON.parse(row.status_problem),
  revision: row.revision,
  createTime: row.create_time,
  updateTime: row.update_time,
})
