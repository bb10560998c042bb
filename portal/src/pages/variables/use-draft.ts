/**
 * Keeps changes that are not saved: whoever looks at another page finds them again, and whoever closes the tab is asked
 * first. They lie in memory only, are one person's own, and are gone when that person logs out.
 */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useSession } from '../../session/session.tsx'
import { type Draft, hasChanges, NOTHING } from './draft.ts'

const PREFIX = 'drafts/'

export type UsedDraft = { draft: Draft; change(work: (before: Draft) => Draft): void }

/** `name` is that of the environment; another one needs another page around it. */
export function useDraft(name: string): UsedDraft {
  const { email } = useSession()
  const client = useQueryClient()
  const queryKey = [`${PREFIX}${email}/${name}/variables`]
  const latest = useRef<Draft>(undefined)
  latest.current ??= client.getQueryData<Draft>(queryKey) ?? NOTHING
  // What is typed must be in the field at once: what the client keeps is told a moment later, and keys would be lost.
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

/** For a new row. (`crypto.randomUUID` is there on https only.) */
export const newRowId = (): string => `new:${++made}`

let guarded: QueryClient | undefined

/** Only while there is something to lose: a page that listens for this is not kept for the way back by every browser. */
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
