/**
 * Long-lived answers. They end when the client closes the connection, when the service stops, and when the client loses
 * its access.
 */
import { Problem } from '../../contract/index.ts'
import type { Access, Auth } from '../auth.ts'
import type { RouteCall } from '../route.ts'

/** How often access is checked again. */
const LOOK_MS = 2000
/** How long the end of the stream may take to reach the client; after that the connection is closed. */
const CLOSE_TIMEOUT_MS = 1000

type Parts = { auth: Auth; access: Exclude<Access, 'public'>; stopping: AbortSignal }

/** Aborted when nothing more may be written. */
export function untilOver(
  { request, reply }: Pick<RouteCall<unknown, unknown>, 'request' | 'reply'>,
  { auth, access, stopping }: Parts,
): AbortSignal {
  const over = new AbortController()
  const looking = setInterval(look, LOOK_MS)
  let closing: NodeJS.Timeout | undefined
  // A stream ends when the service stops; otherwise its connection would delay the stop.
  reply.header('connection', 'close')

  function look() {
    auth.admit(request, access).catch((error) => {
      // An unavailable database says nothing about access: it is asked again.
      if (!(error instanceof Problem) || over.signal.aborted) return
      end()
      closing = setTimeout(() => reply.raw.destroy(), CLOSE_TIMEOUT_MS)
    })
  }
  function end() {
    clearInterval(looking)
    stopping.removeEventListener('abort', end)
    over.abort()
  }
  stopping.addEventListener('abort', end, { once: true })
  reply.raw.once('close', () => {
    clearTimeout(closing)
    end()
  })
  // The client may have closed the connection while its access was checked; then no event follows.
  if (stopping.aborted || reply.raw.destroyed) end()
  return over.signal
}
