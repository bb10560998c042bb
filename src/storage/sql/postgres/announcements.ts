/**
 * Changes of other processes, by LISTEN and NOTIFY. A NOTIFY takes a lock on the whole database while its transaction commits,
 * so a process sends one for all transactions of a moment, after their commits, and not one in each. The first after a pause is
 * sent at once. It is a hint only: after
 * a loss of the connection, followers are told that anything may have changed.
 */
import { type Clock, repeat } from '../../../base/index.ts'
import { statement } from '../sql.ts'
import type { Connect, Session } from './client.ts'
import type { createStatements } from './statements.ts'

const CHANNEL = 'headland_changes'
/** How long changes are collected after some were sent. */
const COLLECT_MS = 20
/** PostgreSQL takes less than 8000 bytes. */
const MAX_PAYLOAD_BYTES = 7800
/** Beyond that, one message says that anything may have changed. */
const MAX_CHANGES = 500
/** How often a lost session is opened again. */
const RECONNECT_MS = 500

type Change = readonly [accountId: string, name: string]
type Message = { changes: readonly Change[] } | { isEverything: true }

export type Followers = {
  onChange(accountId: string, name: string): void
  /** Changes may have been missed. */
  onEverything(): void
}

type Parts = {
  clock: Clock
  connect: Connect
  render: ReturnType<typeof createStatements>
  followers: Followers
}

export function createAnnouncements({ clock, connect, render, followers }: Parts) {
  const collected = new Map<string, Change>()
  let isTooMuch = false
  let session: Session | undefined
  let isFirst = true
  let sending: Promise<void> | undefined
  let sentTime = Number.NEGATIVE_INFINITY

  async function listen() {
    if (session && !session.isOver()) return
    const opened = await connect(() => undefined)
    opened.onNotification((payload, processId) => {
      // What this process changed, its followers know already.
      if (processId !== opened.processId) receive(JSON.parse(payload) as Message)
    })
    await opened.query(render(statement`LISTEN headland_changes`))
    session = opened
    if (!isFirst) followers.onEverything()
    isFirst = false
  }

  function receive(message: Message) {
    if ('isEverything' in message) followers.onEverything()
    else for (const [accountId, name] of message.changes) followers.onChange(accountId, name)
  }

  async function send() {
    const pauseMs = sentTime + COLLECT_MS - performance.now()
    if (pauseMs > 0) await clock.sleep(pauseMs)
    // What is changed in the same turn of the loop is sent together.
    else await new Promise((resolve) => setImmediate(resolve))
    while (session && !session.isOver() && (collected.size > 0 || isTooMuch)) {
      const messages = isTooMuch ? [JSON.stringify({ isEverything: true })] : messagesOf([...collected.values()])
      collected.clear()
      isTooMuch = false
      const current = session
      sentTime = performance.now()
      const sent = messages.map((text) =>
        current.query(render(statement`SELECT pg_notify(${CHANNEL}, ${text})`)).catch(() => {
          isTooMuch = true
        }),
      )
      await Promise.all(sent)
    }
  }

  const trySending = () => {
    sending ??= send().finally(() => {
      sending = undefined
    })
    return sending
  }

  // A session that cannot be opened is opened later; what happens meanwhile is made good by `onEverything`.
  const open = () =>
    listen().then(trySending, () => {
      // Followers may be there already, so the first session that is opened late has missed changes as well.
      isFirst = false
    })
  const watch = repeat(clock, RECONNECT_MS, open)
  const opened = open()

  return {
    /** Tells other processes, soon. */
    announce(changes: readonly Change[]) {
      if (changes.length === 0) return
      for (const change of changes) {
        if (collected.size < MAX_CHANGES) collected.set(change.join(' '), change)
        else isTooMuch = true
      }
      trySending()
    },

    /** The session of another server is over, and is opened again here. */
    moveTo(place: string) {
      if (session && session.place !== place) session.destroy(new Error('another server has taken over'))
    },

    /** What was collected is sent first. */
    async close() {
      await opened
      await trySending()
      await watch.stop()
      const last = session
      if (last) await settled(last, clock)
    },
  }
}

const CLOSE_MS = 1000

async function settled(session: Session, clock: Clock) {
  const over = new AbortController()
  const ending = session.end().finally(() => over.abort())
  await Promise.race([ending, clock.sleep(CLOSE_MS, over.signal)])
  session.discard()
}

/** As few texts as the limit of PostgreSQL allows. */
export function messagesOf(changes: readonly Change[]): string[] {
  const messages: Change[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const change of changes) {
    const own = Buffer.byteLength(JSON.stringify(change)) + 1
    if (bytes + own > MAX_PAYLOAD_BYTES) {
      messages.push([])
      bytes = '{"changes":[]}'.length
    }
    messages.at(-1)?.push(change)
    bytes += own
  }
  const isTooLong = messages.some((one) => one.length === 1 && JSON.stringify(one).length > MAX_PAYLOAD_BYTES)
  return isTooLong ? [JSON.stringify({ isEverything: true })] : messages.map((one) => JSON.stringify({ changes: one }))
}
