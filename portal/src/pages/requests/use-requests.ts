/** The last requests, and each new one as it is recorded. For another filter the component is remounted, by its key. */
import { useEffect, useRef, useState } from 'react'
import { call, urlOf } from '../../api/client.ts'
import { readEventStream } from '../../api/live/event-stream.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import type { RequestRecord, RequestRecords } from '../../api/types.ts'
import { watchAttention } from '../../log/attention.ts'
import { type FollowState, keepFollowing } from '../../log/follow.ts'
import { MAX_ROWS, withNewer, withOlder } from './rows.ts'

export type Filter = { status: string | undefined; path: string | undefined }

const PAGE_SIZE = 100

export function useRequests(address: string, filter: Filter, isPaused: boolean) {
  const [rows, setRows] = useState<readonly RequestRecord[]>()
  const [isRecorded, setRecorded] = useState(true)
  const [older, setOlder] = useState('')
  const [isLoadingMore, setLoadingMore] = useState(false)
  const [state, setState] = useState<FollowState>('reading')
  const [problem, setProblem] = useState<Problem>()
  const [attempt, setAttempt] = useState(0)
  const last = useRef(0)
  const { status, path } = filter

  // biome-ignore lint/correctness/useExhaustiveDependencies: each retry by the user is a new attempt
  useEffect(() => {
    if (isPaused) return
    const over = new AbortController()
    let waiting: RequestRecord[] = []

    function take(request: RequestRecord) {
      last.current = Math.max(last.current, request.number)
      waiting.push(request)
      if (waiting.length > 1) return
      // Edges report once a second: those of one report are shown together.
      requestAnimationFrame(() => {
        const newer = waiting
        waiting = []
        setRows((before = []) => withNewer(before, newer))
      })
    }

    async function follow(signal: AbortSignal): Promise<boolean> {
      if (last.current === 0) {
        setState('reading')
        const query = { status, path, pageSize: PAGE_SIZE }
        const found = await call<RequestRecords>(address, { query, signal })
        last.current = found.requests[0]?.number ?? 0
        setRows(found.requests)
        setRecorded(found.isRecorded)
        setOlder(found.nextPageToken)
        if (!found.isRecorded) return true
      }
      await readEventStream(urlOf(address, { status, path, offset: last.current }), {
        signal,
        onOpen: () => setState('following'),
        onEvent: ({ event, data }) => event === 'request' && take(JSON.parse(data)),
      })
      return false
    }

    setProblem(undefined)
    keepFollowing(follow, {
      last: () => last.current,
      onState(next, why) {
        setState(next)
        setProblem(why)
      },
      signal: over.signal,
      attention: watchAttention(over.signal),
    })
    return () => over.abort()
  }, [address, status, path, isPaused, attempt])

  async function loadMore() {
    setLoadingMore(true)
    try {
      const query = { status, path, pageSize: PAGE_SIZE, pageToken: older }
      const found = await call<RequestRecords>(address, { query })
      setRows((before = []) => withOlder(before, found.requests))
      setOlder(found.nextPageToken)
    } catch (error) {
      setProblem(problemOf(error))
    } finally {
      setLoadingMore(false)
    }
  }

  const hasMore = older !== '' && (rows?.length ?? 0) < MAX_ROWS
  const retry = () => setAttempt((before) => before + 1)
  return { rows, isRecorded, state, problem, retry, hasMore, isLoadingMore, loadMore }
}
