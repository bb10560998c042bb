/** GitHub, and GitHub Enterprise: hooks signed in `X-Hub-Signature-256`, and statuses of commits. */
import { addressOf, apiBaseOf, pathOf } from './address.ts'
import { at, changeOf, changeOfRef, closedOf, eventOf, header, ignored, parse } from './payload.ts'
import { provesPrefixed } from './proof.ts'
import { type HookEvent, isOk, type Provider } from './provider.ts'
import { bearer, fittingUrl, isCommit, line, post } from './status.ts'

const STATES = { PENDING: 'pending', SUCCESS: 'success', FAILURE: 'failure' } as const
const MAX_DESCRIPTION = 140
const MAX_CONTEXT = 255
const MAX_URL = 1024

export const github: Provider = {
  name: 'GITHUB',

  proves: (headers, body, secret) => provesPrefixed(header(headers, 'x-hub-signature-256'), body, secret),

  read(headers, body) {
    const event = header(headers, 'x-github-event')
    if (event === 'ping') return { kind: 'PING' }
    return readGitHubEvent(event, () => parse(headers, body))
  },

  status(repositoryUrl, commit, status, token) {
    const segments = addressOf(repositoryUrl)?.segments
    if (segments?.length !== 2 || !isCommit(commit)) return undefined
    return post(
      `${apiBaseOf(repositoryUrl, 'GITHUB')}/repos${pathOf(segments)}/statuses/${commit}`,
      { ...bearer(token), accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
      {
        state: STATES[status.state],
        target_url: fittingUrl(status.targetUrl, MAX_URL),
        description: line(status.description, MAX_DESCRIPTION),
        context: line(status.context, MAX_CONTEXT),
      },
    )
  },

  accepted: isOk,
}

/** Events of GitHub, and of those that speak as it does: a push names the whole ref, a deletion its short name and kind. */
export function readGitHubEvent(event: string, read: () => unknown): HookEvent {
  if (!['push', 'delete', 'pull_request'].includes(event)) return ignored(event)
  const payload = read()
  if (event === 'push') return eventOf([changeOfRef(at(payload, 'ref'), at(payload, 'after'))])
  if (event === 'delete')
    return eventOf([at(payload, 'ref_type') === 'branch' ? changeOf(at(payload, 'ref'), null) : undefined])
  if (at(payload, 'action') !== 'closed') return ignored(event)
  const repositoryOf = (side: string) => at(payload, 'pull_request', side, 'repo', 'id')
  return eventOf([closedOf(at(payload, 'pull_request', 'head', 'ref'), repositoryOf('head'), repositoryOf('base'))])
}
