/**
 * Keeps unsaved changes while the user visits other pages, and asks before the tab is closed. They are in memory only,
 * belong to one user, and are dropped at log-out.
 */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useSession } from '../../session/session.tsx'
import { type Draft, hasChanges, NOTHING } from './draft.ts'

const PREFIX = 'drafts/'

export type UsedDraft = { draft: Draft; change(work: (before: Draft) => Draft): void }

/** `name` is the resource name of the environment; remount the page for another one. */
export function useDraft(name: string): UsedDraft {
  const { email } = useSession()
  const client = useQueryClient()
  const queryKey = [`${PREFIX}${email}/${name}/variables`]
  const latest = useRef<Draft>(undefined)
  latest.current ??= client.getQueryData<Draft>(queryKey) ?? NOTHING
  // Input must be in the field at once: the query client notifies with a delay, and key strokes would be lost.
  const [draft, setDraft] = useState(latest.current)

  return {
    draft,
    change(work) {
      const next = work(latest.current ?? NOTHING)
      latest.current = next
      setDraft(next)
      client.setQueryDefaults(queryKey, { gcTime: Number.POSITIVE_INFINITY, structuralSharing: false })
      client.setQueryData<Draft>(queryKey, next)
      if (hasChanges(next)) guard(client)
    },
  }
}

let made = 0

/** The id of a new row. (`crypto.randomUUID` exists on https only.) */
export const newRowId = (): string => `new:${++made}`

let guarded: QueryClient | undefined

/**
 * Registered only while there are unsaved changes: some browsers exclude pages with this listener from the back-forward
 * cache.
 */
function guard(client: QueryClient) {
  if (guarded) return
  guarded = client
  addEventListener('beforeunload', onLeave)
}

function onLeave(event: BeforeUnloadEvent) {
  const drafts = guarded?.getQueriesData<Draft>({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith(PREFIX) })
  if (drafts?.some(([, draft]) => draft && hasChanges(draft))) return event.preventDefault()
  guarded = undefined
  removeEventListener('beforeunload', onLeave)
}
