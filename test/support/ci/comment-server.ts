/** Comments of GitHub's issues and notes of GitLab's merge requests on one port, each as strict as its documentation. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Comment = { id: number; body: string }

type Options = {
  token: string
  /** `owner/name` at GitHub, and the number of the project at GitLab. */
  repository: string
  project: string
  /** The number of the pull or merge request. */
  request: number
}

class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export async function startCommentServer({ token, repository, project, request }: Options) {
  /** Enough of others that the list has two pages. */
  const comments: Comment[] = Array.from({ length: 120 }, (_, n) => ({ id: n + 1, body: `looks good ${n}` }))
  const refused: string[] = []
  const github = new RegExp(`^/api/v3/repos/${repository}/issues/(?:${request}/comments|comments/(\\d+))$`)
  const gitlab = new RegExp(`^/api/v4/projects/${project}/merge_requests/${request}/notes(?:/(\\d+))?$`)

  async function answer(asked: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const { pathname, searchParams } = new URL(asked.url ?? '', 'http://host')
    const { method, headers } = asked
    const isGitHub = github.test(pathname)
    if (!isGitHub && !gitlab.test(pathname)) throw new Refused(404, 'Not Found')
    const isKnown = isGitHub ? headers.authorization === `Bearer ${token}` : headers['private-token'] === token
    if (!isKnown) throw new Refused(401, 'Bad credentials')
    if (isGitHub && !headers['user-agent']) throw new Refused(403, 'a User-Agent is required')
    const id = (isGitHub ? github : gitlab).exec(pathname)?.[1]
    if (method === 'GET' && id === undefined) return { status: 200, body: pageOf(searchParams) }
    const body = await bodyOf(asked)
    if (method === 'POST' && id === undefined) {
      const made = { id: comments.length + 1, body }
      comments.push(made)
      return { status: 201, body: made }
    }
    const found = comments.find((one) => String(one.id) === id)
    if (method !== (isGitHub ? 'PATCH' : 'PUT') || id === undefined) throw new Refused(404, 'no such method here')
    if (!found) throw new Refused(404, 'no such comment')
    found.body = body
    return { status: 200, body: found }
  }

  function pageOf(query: URLSearchParams): Comment[] {
    const [size, page] = [Number(query.get('per_page') ?? 20), Number(query.get('page') ?? 1)]
    if (!(size >= 1 && size <= 100 && page >= 1)) throw new Refused(422, 'per_page is at most 100')
    return comments.slice((page - 1) * size, page * size)
  }

  const server = createServer(async (asked, response) => {
    const { status, body } = await answer(asked).catch((error) => {
      refused.push(`${asked.method} ${asked.url}: ${error.message}`)
      return { status: error.status ?? 500, body: { message: error.message } }
    })
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    comments,
    refused,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(resolve)
      }),
  }
}

async function bodyOf(asked: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of asked) chunks.push(chunk as Buffer)
  if (!/^application\/json\b/.test(asked.headers['content-type'] ?? '')) throw new Refused(415, 'send JSON')
  const fields = JSON.parse(Buffer.concat(chunks).toString())
  const isRight = Object.keys(fields).join() === 'body' && typeof fields.body === 'string' && fields.body !== ''
  if (!isRight) throw new Refused(422, 'the one field is body')
  return fields.body
}
