/**
 * Reports recorded requests to the control process, once a second. While that is away, or slow, they are kept as far as they
 * fit, and the others are counted.
 */
import type { EdgeServer } from '../server.ts'
import type { followControl } from './follow-control.ts'

const REPORT_MS = 1000

type Control = Pick<ReturnType<typeof followControl>, 'isConnected' | 'sendRequests'>

export function reportRequests(edge: Pick<EdgeServer, 'takeRequests' | 'giveBackRequests'>, control: Control) {
  let sending: Promise<void> | undefined
  const timer = setInterval(() => {
    sending ??= send().finally(() => {
      sending = undefined
    })
  }, REPORT_MS)

  async function send() {
    const records = control.isConnected() ? edge.takeRequests() : undefined
    if (records && !(await control.sendRequests(records))) edge.giveBackRequests(records)
  }

  return {
    /** Resolves when the last ones were sent. */
    async stop() {
      clearInterval(timer)
      await sending
      await send()
    },
  }
}
