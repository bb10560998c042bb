/**
 * The calls for commit statuses of GitHub Enterprise, GitLab, Gitea and Bitbucket Data Center on one port, each as strict as
 * its documentation: what they refuse, this server refuses, and says in `refused` why.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ReceivedStatus = {
  provider: 'GITHUB' | 'GITLAB' | 'GITEA' | 'BITBUCKET'
  repository: string
  commit: string
  /** As the service writes it. */
  state: string
  description: string
  targetUrl: string
  context: string
  branch?: string
}

type Options = {
  token: string
  /** `owner/name`; for GitLab also with groups below groups. */
  repository: string
  /** Commits that the repository has. Any of 40 digits if it is left out. */
  commits?: readonly string[]
}

type Answer = { status: number; body?: unknown }
type Call = { request: IncomingMessage; options: Options; before: readonly ReceivedStatus[] }
type Fields = Record<string, unknown>

class Refused extends Error {
  readonly answer: Answer
  constructor(status: number, message: string) {
    super(message)
    this.answer = { status, body: { message } }
  }
}

export async function startStatusServer(options: Options) {
  const [received, refused] = [[] as ReceivedStatus[], [] as string[]]
  const failures: number[] = []
  const server = createServer(async (request, response) => {
    const { status, body } = await answer(request)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(body === undefined ? '' : JSON.stringify(body))
  })

  async function answer(request: IncomingMessage): Promise<Answer> {
    try {
      const fields = await fieldsOf(request)
      const failure = failures.shift()
      if (failure !== undefined) throw new Refused(failure, 'an outage that a test asked for')
      const accepted = judge({ request, options, before: received }, fields)
      received.push(accepted)
      return accepted.provider === 'BITBUCKET' ? { status: 204 } : { status: 201, body: { id: received.length } }
    } catch (error) {
      refused.push(`${request.method} ${request.url}: ${(error as Error).message}`)
      if (error instanceof Refused) return error.answer
      return { status: 500, body: { message: (error as Error).message } }
    }
  }

  await listen(server)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Statuses that were accepted, in their order. */
    received,
    /** Why calls were refused. */
    refused,
    /** The next calls get these HTTP statuses. */
    failNext: (...statuses: number[]) => failures.push(...statuses),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(resolve)
      }),
  }
}

const listen = (server: Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

async function fieldsOf(request: IncomingMessage): Promise<Fields> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  if (request.method !== 'POST') throw new Refused(404, 'only POST creates a status')
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw new Refused(415, 'send JSON')
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as Fields
  } catch {
    throw new Refused(400, 'Problems parsing JSON')
  }
}

const ROUTES: readonly [RegExp, (call: Call, fields: Fields, repository: string, commit: string) => ReceivedStatus][] =
  [
    [/^\/api\/v3\/repos\/([^/]+\/[^/]+)\/statuses\/([^/]+)$/, ofGitHub],
    [/^\/api\/v4\/projects\/([^/]+)\/statuses\/([^/]+)$/, ofGitLab],
    [/^\/api\/v1\/repos\/([^/]+\/[^/]+)\/statuses\/([^/]+)$/, ofGitea],
    [/^\/rest\/api\/latest\/projects\/([^/]+\/repos\/[^/]+)\/commits\/([^/]+)\/builds$/, ofBitbucket],
  ]

function judge(call: Call, fields: Fields): ReceivedStatus {
  for (const [path, read] of ROUTES) {
    const [, repository, commit] = path.exec(call.request.url ?? '') ?? []
    if (repository !== undefined && commit !== undefined) return read(call, fields, repository, commit)
  }
  throw new Refused(404, 'Not Found')
}

function ofGitHub(call: Call, fields: Fields, repository: string, commit: string): ReceivedStatus {
  const { headers } = call.request
  if (!headers['user-agent']) throw new Refused(403, 'Request forbidden by administrative rules')
  checkToken([`Bearer ${call.options.token}`, `token ${call.options.token}`].includes(headers.authorization ?? ''))
  if (!/application\/(vnd\.github(\.v3)?\+)?json/.test(headers.accept ?? ''))
    throw new Refused(415, 'unsupported accept')
  checkRepository(call, decodeURIComponent(repository), commit, 422)
  checkFields(fields, ['state', 'target_url', 'description', 'context'], 422)
  const state = oneOf(fields.state, ['error', 'failure', 'pending', 'success'], 422)
  const description = text(fields.description, { max: 140, status: 422 })
  const targetUrl = text(fields.target_url, { max: 1024, status: 422 })
  if (!/^https?:\/\//.test(targetUrl)) throw new Refused(422, 'target_url must use http(s) scheme')
  const context = text(fields.context, { max: 255, status: 422 })
  return {
    provider: 'GITHUB',
    repository: decodeURIComponent(repository),
    commit,
    state,
    description,
    targetUrl,
    context,
  }
}

function ofGitLab(call: Call, fields: Fields, project: string, commit: string): ReceivedStatus {
  const { headers } = call.request
  const { token } = call.options
  checkToken(headers['private-token'] === token || headers.authorization === `Bearer ${token}`)
  // A slash that is not escaped leads to another route.
  checkRepository(call, decodeURIComponent(project), commit, 404)
  const names = ['state', 'ref', 'name', 'context', 'target_url', 'description', 'coverage', 'pipeline_id']
  checkFields(fields, names, 400)
  const states = ['pending', 'running', 'success', 'failed', 'canceled', 'skipped']
  const state = oneOf(fields.state, states, 400)
  const context = text(fields.name ?? fields.context, { max: 255, status: 400 })
  const last = call.before.findLast((one) => one.commit === commit && one.context === context)
  if (state === 'pending' && (last?.state === 'pending' || last?.state === 'running'))
    throw new Refused(
      400,
      `Cannot transition status via :enqueue from :${last.state} (Reason(s): Status cannot transition via "enqueue")`,
    )
  return {
    ...{ provider: 'GITLAB', repository: decodeURIComponent(project), commit, state, context },
    description: text(fields.description, { max: 255, status: 400 }),
    targetUrl: text(fields.target_url, { max: 255, status: 400 }),
    ...(fields.ref === undefined ? {} : { branch: text(fields.ref, { max: 255, status: 400 }) }),
  }
}

function ofGitea(call: Call, fields: Fields, repository: string, commit: string): ReceivedStatus {
  const { authorization = '' } = call.request.headers
  checkToken([`token ${call.options.token}`, `Bearer ${call.options.token}`].includes(authorization))
  checkRepository(call, decodeURIComponent(repository), commit, 404)
  checkFields(fields, ['state', 'target_url', 'description', 'context'], 422)
  return {
    ...{ provider: 'GITEA', repository: decodeURIComponent(repository), commit },
    state: oneOf(fields.state, ['pending', 'success', 'error', 'failure', 'warning'], 422),
    description: text(fields.description, { max: 65_535, status: 422 }),
    targetUrl: text(fields.target_url, { max: 65_535, status: 422 }),
    context: text(fields.context, { max: 65_535, status: 422 }),
  }
}

function ofBitbucket(call: Call, fields: Fields, name: string, commit: string): ReceivedStatus {
  const { authorization = '' } = call.request.headers
  const basic = `Basic ${Buffer.from(call.options.token).toString('base64')}`
  checkToken(authorization === `Bearer ${call.options.token}` || authorization === basic)
  const repository = decodeURIComponent(name).replace('/repos/', '/')
  checkRepository(call, repository, commit, 404)
  const names = [
    'key',
    'state',
    'url',
    'buildNumber',
    'description',
    'duration',
    'lastUpdated',
    'name',
    'parent',
    'ref',
  ]
  checkFields(fields, [...names, 'testResults'], 400)
  return {
    ...{ provider: 'BITBUCKET', repository, commit },
    state: oneOf(fields.state, ['INPROGRESS', 'SUCCESSFUL', 'FAILED', 'CANCELLED', 'UNKNOWN'], 400),
    context: text(fields.key, { max: 255, status: 400 }),
    targetUrl: text(fields.url, { max: 450, status: 400 }),
    description: text(fields.description, { max: 255, status: 400 }),
  }
}

function checkToken(isRight: boolean): void {
  if (!isRight) throw new Refused(401, 'Bad credentials')
}

function checkRepository({ options }: Call, repository: string, commit: string, unknownCommit: number): void {
  if (repository !== options.repository) throw new Refused(404, `Not Found: the repository ${repository}`)
  const isThere = options.commits ? options.commits.includes(commit) : /^[0-9a-f]{40}$/.test(commit)
  if (!isThere) throw new Refused(unknownCommit, `No commit found for SHA: ${commit}`)
}

function checkFields(fields: Fields, known: readonly string[], status: number): void {
  const unknown = Object.keys(fields).filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Refused(status, `unknown fields: ${unknown.join(', ')}`)
}

function oneOf(value: unknown, values: readonly string[], status: number): string {
  if (typeof value !== 'string' || !values.includes(value)) throw new Refused(status, `no state: ${String(value)}`)
  return value
}

function text(value: unknown, { max, status }: { max: number; status: number }): string {
  if (typeof value !== 'string' || value === '') throw new Refused(status, 'a field is missing')
  if ([...value].length > max) throw new Refused(status, `too long (maximum is ${max} characters)`)
  return value
}
