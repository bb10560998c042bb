/** The user who is logged in, the current account, and what the user may do in it. */
import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { call } from '../api/client.ts'
import { CallFailed } from '../api/problem.ts'
import { SESSION_KEY } from '../api/session-key.ts'
import type { Invitation, Role, Session } from '../api/types.ts'

/** The session, or null when there is none. */
export async function fetchSession(): Promise<Session | null> {
  try {
    return await call<Session>('/v1/session')
  } catch (error) {
    if (error instanceof CallFailed && error.problem.status === 401) return null
    throw error
  }
}

export { SESSION_KEY }

export type Known = {
  email: string
  accounts: readonly string[]
  invitations: readonly Invitation[]
  /** The current account. */
  account: string
  role: Role
  /** May change apps and environments. The service enforces it; the page only hides the controls. */
  canWrite: boolean
  /** May also manage users and API access. */
  canOwn: boolean
  /** May see the processes and machines of the installation. */
  isOperator: boolean
}

const Context = createContext<Known | undefined>(undefined)

export function useSession(): Known {
  const known = useContext(Context)
  if (!known) throw new Error('useSession is for pages of an account')
  return known
}

export const accountsOf = ({ accounts }: Session): string[] =>
  accounts.map(({ name }) => name.replace(/^accounts\//, ''))

/** `account` must be one of the session's. */
export function SessionIn({ session, account, children }: { session: Session; account: string; children: ReactNode }) {
  const known = useMemo<Known>(() => {
    const role = session.accounts.find(({ name }) => name === `accounts/${account}`)?.role ?? 'viewer'
    return {
      email: session.email,
      accounts: accountsOf(session),
      invitations: session.invitations,
      account,
      role,
      canWrite: role !== 'viewer',
      canOwn: role === 'owner',
      isOperator: session.operator,
    }
  }, [session, account])
  return <Context value={known}>{children}</Context>
}

/** Ends the session here, or all of this user's sessions everywhere. */
export function useLogOut(): (everywhere?: boolean) => Promise<void> {
  const client = useQueryClient()
  return async (everywhere = false) => {
    await call('/v1/session', { method: 'DELETE', query: everywhere ? { everywhere: true } : {} })
    client.setQueryData(SESSION_KEY, null)
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] })
  }
}
