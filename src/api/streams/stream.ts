/**
 * Answers that go on: who reads them may leave, the service may stop, and whoever lost their access while they read must
 * not read on.
 */
import { Problem } from '../../contract/index.ts'
import type { Access, Auth } from '../auth.ts'
import type { RouteCall } from '../route.ts'

/** How often access is looked at again. */
const LOOK_MS = 2000
/** For the end to reach a reader who takes it; one who takes nothing is cut off. */
const FAREWELL_MS = 1000

type Parts = { auth: Auth; access: Exclude<Access, 'public'>; stopping: AbortSignal }

/** Aborted when nothing more is to be written. */
export function untilOver(
  { request, reply }: Pick<RouteCall<unknown, unknown>, 'request' | 'reply'>,
  { auth, access, stopping }: Parts,
): AbortSignal {
  const over = new AbortController()
  const looking = setInterval(look, LOOK_MS)
  let farewell: NodeJS.Timeout | undefined
  // A stream ends when the service stops: a connection that is kept after it would hold the stop up.
  reply.header('connection', 'close')

  function look() {
    auth.admit(request, access).catch((error) => {
      // A database that is away says nothing about access: it is asked again.
      if (!(error instanceof Problem) || over.signal.aborted) return
      end()
      farewell = setTimeout(() => reply.raw.destroy(), FAREWELL_MS)
    })
  }
  function end() {
    clearInterval(looking)
    stopping.removeEventListener('abort', end)
    over.abort()
  }
  stopping.addEventListener('abort', end, { once: true })
  reply.raw.once('close', () => {
    clearTimeout(farewell)
    end()
  })
  // Whoever left while it was being looked who they are has closed it already, and is not told of any more.
  if (stopping.aborted || reply.raw.destroyed) end()
  return over.signal
}
