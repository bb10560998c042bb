/** GitLab: hooks with the secret in `X-Gitlab-Token` or signed as Standard Webhooks are, and statuses of commits. */
import { addressOf, apiBaseOf, gitLabProject } from './address.ts'
import { at, changeOfRef, closedOf, eventOf, header, ignored, parse } from './payload.ts'
import { provesStandard, provesToken } from './proof.ts'
import { isOk, type Provider } from './provider.ts'
import { fittingUrl, isCommit, line, post } from './status.ts'

const STATES = { PENDING: 'pending', SUCCESS: 'success', FAILURE: 'failed' } as const
const MAX_TEXT = 255
const CLOSED: readonly unknown[] = ['close', 'merge']

export const gitlab: Provider = {
  name: 'GITLAB',

  proves(headers, body, secret) {
    if (provesToken(header(headers, 'x-gitlab-token'), secret)) return true
    const [id, time, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
      header(headers, name),
    ) as [string, string, string]
    return provesStandard({ id, time, signatures }, body, secret)
  },

  read(headers, body) {
    const event = header(headers, 'x-gitlab-event')
    if (!['Push Hook', 'Merge Request Hook', 'System Hook'].includes(event)) return ignored(event)
    const payload = parse(headers, body)
    // Hooks of a whole server tell of pushes in the same form, among much else.
    const kind = at(payload, 'object_kind')
    const request = at(payload, 'object_attributes')
    if (kind === 'merge_request' && CLOSED.includes(at(request, 'action')))
      return eventOf([
        closedOf(at(request, 'source_branch'), at(request, 'source_project_id'), at(request, 'target_project_id')),
      ])
    if (kind !== 'push') return ignored(typeof kind === 'string' ? kind : event)
    return eventOf([changeOfRef(at(payload, 'ref'), at(payload, 'after'))])
  },

  status(repositoryUrl, commit, status, token) {
    const address = addressOf(repositoryUrl)
    const project = address ? gitLabProject(address) : []
    if (project.length < 2 || !isCommit(commit)) return undefined
    return post(
      `${apiBaseOf(repositoryUrl, 'GITLAB')}/projects/${encodeURIComponent(project.join('/'))}/statuses/${commit}`,
      { 'private-token': token.reveal() },
      {
        state: STATES[status.state],
        name: line(status.context, MAX_TEXT),
        target_url: fittingUrl(status.targetUrl, MAX_TEXT),
        description: line(status.description, MAX_TEXT),
        ...(status.branch === undefined ? {} : { ref: status.branch }),
      },
    )
  },

  // A status that is pending or running already is not made pending again: GitLab answers so, and it is what was asked for.
  accepted: (httpStatus, body) =>
    isOk(httpStatus) ||
    (httpStatus === 400 && /Cannot transition status via :enqueue from :(?:pending|running)/.test(body)),
}
