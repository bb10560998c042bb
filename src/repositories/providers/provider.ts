/** What a git hosting service does for a connected repository: it calls a hook after a push, and shows statuses of commits. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Secret } from '../../base/index.ts'

export const PROVIDERS = ['GITHUB', 'GITLAB', 'GITEA', 'BITBUCKET'] as const
/** Forgejo speaks as Gitea does. */
export type ProviderName = (typeof PROVIDERS)[number]

/**
 * One branch that a push changed; Bitbucket names several in one call. That of a pull request which was closed counts as deleted: its
 * preview goes, and a push makes it again.
 */
export type BranchChange = { kind: 'PUSH'; branch: string; commit: string } | { kind: 'DELETED'; branch: string }

export type HookEvent =
  | { kind: 'CHANGES'; changes: BranchChange[] }
  /** The service tries whether the hook answers. */
  | { kind: 'PING' }
  /** Why nothing is to be done, as a sentence for the log of the hosting service. */
  | { kind: 'IGNORED'; why: string }

export type CommitStatus = {
  state: 'PENDING' | 'SUCCESS' | 'FAILURE'
  /** One line; it is cut to what the service takes. */
  description: string
  /** Where the status leads: the environment, or its build. */
  targetUrl: string
  /** Tells this status from those of others, as in `headland/Production`. */
  context: string
  /** The branch of the commit, where it is known: GitLab puts the status in the pipeline of that branch. */
  branch?: string | undefined
}

/** A request that is ready to be sent. Its headers carry the token: they belong in no log. */
export type HttpCall = { method: 'POST'; url: string; headers: Record<string, string>; body: string }

export type Provider = {
  name: ProviderName
  /** Whether headers and raw body prove the shared secret, compared in constant time. */
  proves(headers: IncomingHttpHeaders, body: Buffer, secret: Secret): boolean
  /** What happened. A body that is not the service's ends in a Problem. */
  read(headers: IncomingHttpHeaders, body: Buffer): HookEvent
  /** The documented call for the status of a commit. Undefined if the URL names no repository of such a service. */
  status(repositoryUrl: string, commit: string, status: CommitStatus, token: Secret): HttpCall | undefined
  /** Whether the answer to that call means that the status stands as it was requested. */
  accepted(httpStatus: number, body: string): boolean
}

export const isOk = (httpStatus: number): boolean => httpStatus >= 200 && httpStatus < 300
