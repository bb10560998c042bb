/**
 * Keeps the page fresh. While the stream of changes is open, each change refetches what it affects; lists over all apps
 * are refetched at most every few seconds, as every running build changes them. When the stream opens, everything is
 * refetched, since changes may have been missed. While it is closed, everything is polled every few seconds. A hidden
 * tab closes its connection.
 */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { CallFailed } from '../problem.ts'
import { SESSION_KEY } from '../session-key.ts'
import { isAffected, isOverAllApps } from './affected.ts'
import { readEventStream } from './event-stream.ts'
import { refresh } from './refresh.ts'
import { throttled } from './throttled.ts'

export type Liveness = 'connecting' | 'live' | 'polling'

const POLL_MS = 4_000
const RETRY_MS = { first: 1_000, max: 30_000 }
const HIDDEN_MS = 20_000
const ALL_APPS_MS = 2_000

let liveness: Liveness = 'connecting'
const listeners = new Set<() => void>()

function become(next: Liveness) {
  if (liveness === next) return
  liveness = next
  for (const listener of listeners) listener()
}

/** Whether the stream of changes is open. */
export function useLiveness(): Liveness {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => liveness,
  )
}

export function useEvents(account: string) {
  const client = useQueryClient()
  useEffect(() => follow(client, account), [client, account])
}

function follow(client: QueryClient, account: string): () => void {
  const over = new AbortController()
  let connection: AbortController | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  let isHidden = document.hidden
  let wake: (() => void) | undefined

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const refreshWhere = (isMeant: (key: string) => boolean) =>
    refresh(client, ({ queryKey }) => isMeant(String(queryKey[0])))
  const refreshAllApps = throttled(() => refreshWhere(isOverAllApps), ALL_APPS_MS)

  async function connect(): Promise<void> {
    connection = new AbortController()
    await readEventStream(`/v1/accounts/${account}/events`, {
      signal: AbortSignal.any([over.signal, connection.signal]),
      onEvent({ event, data }) {
        if (event === 'hello') {
          become('live')
          client.invalidateQueries({ predicate: isOfService })
        }
        if (event !== 'change') return
        const { name } = JSON.parse(data) as { name: string }
        refreshWhere((key) => !isOverAllApps(key) && isAffected(key, name))
        if (name.startsWith(`accounts/${account}/apps/`)) refreshAllApps.call()
      },
    })
  }

  async function run() {
    let wait = RETRY_MS.first
    while (!over.signal.aborted) {
      if (isHidden) {
        await pause(RETRY_MS.max)
        continue
      }
      const begun = Date.now()
      // Refused, broken or ended: in each case, poll until the stream works again.
      await connect().catch((error) => {
        // The session has ended: the log-in page takes over.
        if (error instanceof CallFailed && error.problem.status === 401) client.setQueryData(SESSION_KEY, null)
      })
      if (over.signal.aborted) return
      become('polling')
      if (Date.now() - begun > RETRY_MS.max) wait = RETRY_MS.first
      await pause(wait * (0.75 + Math.random() / 2))
      wait = Math.min(wait * 2, RETRY_MS.max)
    }
  }

  const poll = setInterval(() => {
    if (liveness === 'polling' && !document.hidden) client.invalidateQueries({ predicate: isOfService })
  }, POLL_MS)

  function onVisibility() {
    clearTimeout(hiding)
    if (document.hidden) {
      hiding = setTimeout(() => {
        isHidden = true
        connection?.abort()
      }, HIDDEN_MS)
    } else if (isHidden) {
      isHidden = false
      wake?.()
    }
  }

  document.addEventListener('visibilitychange', onVisibility)
  run()
  return () => {
    over.abort()
    wake?.()
    refreshAllApps.stop()
    clearTimeout(hiding)
    clearInterval(poll)
    document.removeEventListener('visibilitychange', onVisibility)
    become('connecting')
  }
}

/** The session changes only by actions of this page. */
const isOfService = ({ queryKey }: { queryKey: readonly unknown[] }): boolean => queryKey[0] !== SESSION_KEY[0]
