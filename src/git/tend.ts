/** Keeps repositories in few packs: each push adds one, and git reads all of them. */
import type { Log } from '../base/index.ts'
import type { Repositories } from './records.ts'
import type { Remote } from './remote.ts'

const MAX_PACKS = 20

type Parts = { log: Log; repositories: Pick<Repositories, 'read'>; remote: Pick<Remote, 'repack'>; signal: AbortSignal }

export function createTending({ log, repositories, remote, signal }: Parts) {
  /** One at a time: it takes the processor for a while. */
  let last: Promise<unknown> = Promise.resolve()
  const waiting = new Set<string>()

  async function tend(at: { appId: string; accountId: string }) {
    waiting.delete(at.appId)
    if (signal.aborted || (await repositories.read(at.appId)).packs.length <= MAX_PACKS) return
    // If something is pushed meanwhile, the next push tries again.
    if (await remote.repack(at, signal)) log.debug({ app: at.appId }, 'the packs of a repository were put together')
  }

  return (at: { appId: string; accountId: string }) => {
    if (waiting.has(at.appId)) return
    waiting.add(at.appId)
    last = last
      .then(() => tend(at))
      .catch((error) => {
        if (!signal.aborted) log.warn({ err: error, app: at.appId }, 'a repository could not be put into one pack')
      })
  }
}
