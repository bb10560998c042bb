/** Bitbucket Cloud and Data Center: hooks signed in `X-Hub-Signature`, which name several branches, and build statuses. */
import { createHash } from 'node:crypto'
import { addressOf, apiBaseOf, isBitbucketCloud, pathOf } from './address.ts'
import { at, changeOf, changeOfRef, closedOf, eventOf, header, ignored, listAt, parse } from './payload.ts'
import { provesPrefixed } from './proof.ts'
import { type BranchChange, isOk, type Provider } from './provider.ts'
import { basicOrBearer, fittingUrl, isCommit, line, post } from './status.ts'

const STATES = { PENDING: 'INPROGRESS', SUCCESS: 'SUCCESSFUL', FAILURE: 'FAILED' } as const
const CLOSED_IN_CLOUD = ['pullrequest:fulfilled', 'pullrequest:rejected']
const CLOSED_ON_SERVER = ['pr:merged', 'pr:declined', 'pr:deleted']
const MAX_KEY = 40
const MAX_TEXT = 255
const MAX_URL = 450

export const bitbucket: Provider = {
  name: 'BITBUCKET',

  proves: (headers, body, secret) => provesPrefixed(header(headers, 'x-hub-signature'), body, secret),

  read(headers, body) {
    const event = header(headers, 'x-event-key')
    if (event === 'diagnostics:ping') return { kind: 'PING' }
    if (event === 'repo:push') return eventOf(listAt(parse(headers, body), 'push', 'changes').map(changeOfCloud))
    if (event === 'repo:refs_changed') return eventOf(listAt(parse(headers, body), 'changes').map(changeOfServer))
    if (CLOSED_IN_CLOUD.includes(event)) return eventOf([closedInCloud(at(parse(headers, body), 'pullrequest'))])
    if (CLOSED_ON_SERVER.includes(event)) return eventOf([closedOnServer(at(parse(headers, body), 'pullRequest'))])
    return ignored(event)
  },

  status(repositoryUrl, commit, status, token) {
    const address = addressOf(repositoryUrl)
    const name = address?.segments.slice(-2)
    if (!address || name?.length !== 2 || !isCommit(commit)) return undefined
    const base = apiBaseOf(repositoryUrl, 'BITBUCKET')
    const [project, repository] = name as [string, string]
    const url = isBitbucketCloud(address)
      ? `${base}/repositories${pathOf(name)}/commit/${commit}/statuses/build`
      : `${base}/projects${pathOf([project])}/repos${pathOf([repository])}/commits/${commit}/builds`
    return post(url, basicOrBearer(token), {
      key: keyOf(status.context),
      state: STATES[status.state],
      name: line(status.context, MAX_TEXT),
      url: fittingUrl(status.targetUrl, MAX_URL),
      description: line(status.description, MAX_TEXT),
    })
  },

  accepted: isOk,
}

/** In the cloud, `new` is null where a branch was deleted. */
function changeOfCloud(change: unknown): BranchChange | undefined {
  const now = at(change, 'new')
  if (now === null)
    return at(change, 'old', 'type') === 'branch' ? changeOf(at(change, 'old', 'name'), null) : undefined
  return at(now, 'type') === 'branch' ? changeOf(at(now, 'name'), at(now, 'target', 'hash')) : undefined
}

function changeOfServer(change: unknown): BranchChange | undefined {
  return changeOfRef(at(change, 'ref', 'id'), at(change, 'type') === 'DELETE' ? null : at(change, 'toHash'))
}

const closedInCloud = (request: unknown): BranchChange | undefined =>
  closedOf(
    at(request, 'source', 'branch', 'name'),
    at(request, 'source', 'repository', 'full_name'),
    at(request, 'destination', 'repository', 'full_name'),
  )

const closedOnServer = (request: unknown): BranchChange | undefined =>
  closedOf(
    at(request, 'fromRef', 'displayId'),
    at(request, 'fromRef', 'repository', 'id'),
    at(request, 'toRef', 'repository', 'id'),
  )

/** Statuses of one key replace each other, and a key is short. */
const keyOf = (context: string): string =>
  context.length <= MAX_KEY ? context : createHash('sha256').update(context).digest('hex').slice(0, MAX_KEY)
