/** Takes out of a request what was meant for the edge: the app does not get it, and it is no part of a cache key. */
import type { IncomingMessage } from 'node:http'
import { toLower } from '../http/remember.ts'
import { withoutUnlockCookie } from './cookie.ts'

/** `hasUsedBasic`: the Authorization header was the password of the environment. */
export function removeCredentials(request: IncomingMessage, { hasUsedBasic }: { hasUsedBasic: boolean }) {
  const { headers, rawHeaders } = request
  if (hasUsedBasic) delete headers.authorization
  if (headers.cookie !== undefined) {
    const kept = withoutUnlockCookie(headers.cookie)
    if (kept === undefined) delete headers.cookie
    else headers.cookie = kept
  }
  const sent: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    const value = rawHeaders[at + 1] as string
    const lower = toLower(name)
    if (hasUsedBasic && lower === 'authorization') continue
    const kept = lower === 'cookie' ? withoutUnlockCookie(value) : value
    if (kept !== undefined) sent.push(name, kept)
  }
  rawHeaders.splice(0, rawHeaders.length, ...sent)
}
