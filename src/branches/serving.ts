/**
 * A request of git, from one who was admitted: within the limits of the account, a push with its audit event and its space on the
 * disk. It is done by the process that runs git, which on a cluster is another one than that which was called.
 */
import type { Account } from '../accounts/index.ts'
import { auditing } from '../audit/index.ts'
import { LIMITS, Problem } from '../contract/index.ts'
import type { Decide, Git, Remote, RemoteAnswer, Service } from '../git/index.ts'
import type { Pushes, Pushing } from './push.ts'

/** Plain data, so that another process can be asked. */
export type GitRequest = Pushing & {
  service: Service
  /** The header Git-Protocol. */
  protocol: string
  /** As the caller declares them; 0 where it does not. */
  bytes: number
  /** False for the list of refs, too, with which a push begins. */
  isPush: boolean
}

export type ServeGit = (
  request: GitRequest,
  /** Without a body for the list of refs. */
  given: { body: AsyncIterable<Buffer> | undefined; signal: AbortSignal },
) => Promise<RemoteAnswer>

type Parts = {
  git: Pick<Git, 'obstacle'>
  remote: Pick<Remote, 'serve'>
  pushes: Pushes
  diskSpace: {
    forPush(account: Account, bytes: number): Promise<{ cover(bytes: number): Promise<void>; giveBack(): void }>
  }
  /** After a push. */
  tend(at: { appId: string; accountId: string }): void
}

export function createGitServing({ git, remote, pushes, diskSpace, tend }: Parts): ServeGit {
  /** Requests that are open, by account. */
  const open = new Map<string, number>()

  /** One account has only so many: each takes memory, and pushes last as long as their builds. Returns what ends it. */
  function enter({ id }: Account): () => void {
    const count = (open.get(id) ?? 0) + 1
    if (count > LIMITS.gitAtOnce) throw new Problem('TOO_MANY_GIT_REQUESTS', undefined, { retryAfterSeconds: 10 })
    open.set(id, count)
    return () => {
      const left = (open.get(id) ?? 1) - 1
      if (left > 0) open.set(id, left)
      else open.delete(id)
    }
  }

  return async (request, { body, signal }) => {
    const { account, app, service, protocol, bytes, isPush } = request
    const obstacle = await git.obstacle()
    if (obstacle !== undefined) throw new Problem('GIT_UNAVAILABLE', `There is no git here: ${obstacle}.`)
    const stack = new DisposableStack()
    try {
      stack.defer(enter(account))
      const promised = isPush ? await diskSpace.forPush(account, bytes) : undefined
      if (promised) stack.defer(promised.giveBack)
      const answer = await remote.serve({
        appId: app.id,
        service,
        protocol,
        caller: 'headland',
        signal,
        body: body && promised ? counted(body, promised.cover) : body,
        ...(isPush ? { decide: (staged) => audited(request, pushes(request, staged)) } : {}),
      })
      const ending = stack.move()
      answer.body.once('close', () => {
        ending.dispose()
        if (isPush) tend({ appId: app.id, accountId: account.id })
      })
      return answer
    } catch (error) {
      stack.dispose()
      throw error
    }
  }
}

/** `admit` is called with the number of bytes so far. When it throws, the rest is not read. */
async function* counted(body: AsyncIterable<Buffer>, admit: (bytes: number) => Promise<void>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    await admit(bytes)
    yield chunk
  }
}

/** In the audit log as one event, whatever it deploys. */
function audited({ account, app, requester, address }: Pushing, decide: Decide): Decide {
  const event = { accountId: account.id, action: 'PUSH', resource: `apps/${app.name}`, way: 'GIT', address } as const
  return (received, pusher) => auditing({ ...event, by: requester }, () => decide(received, pusher))
}
