/** The end of an edge: it accepts no new connection, and lets the open ones end. */
import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'

const SWEEP_MS = 50

/**
 * Resolves when the last connection is closed. Idle ones are closed at once. `others` resolves when the other servers, which are
 * closing, have no connection any more.
 */
export async function closeGracefully(http: Server, others: Promise<unknown>): Promise<void> {
  // `close` ends the connections that are idle now; those that become idle later must be ended by us.
  const sweep = setInterval(() => http.closeIdleConnections(), SWEEP_MS)
  const closed = new Promise<void>((resolve) => void http.close(() => resolve()))
  await Promise.all([closed, others])
  clearInterval(sweep)
}

/** The same, but idle connections are kept for the usual time. */
export async function closeWhenUnused(http: Server, others: Promise<unknown>): Promise<void> {
  // The `close` of node:http would end the connections that are idle now.
  const closed = new Promise<void>((resolve) => void NetServer.prototype.close.call(http, () => resolve()))
  await Promise.all([closed, others])
}
