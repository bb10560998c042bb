/** The entry point of the portal: fetches the session, and shows the log-in page or the pages. */
import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueryClient } from './api/data.ts'
import { problemOf } from './api/problem.ts'
import { SESSION_KEY } from './api/session-key.ts'
import { lazyPage } from './lazy-page.ts'
import './look/base.css'
import { FaultBoundary } from './components/feedback/fault-boundary.tsx'
import { ProblemNote } from './components/feedback/problem-note.tsx'
import { LogIn } from './session/log-in.tsx'
import { fetchSession } from './session/session.tsx'

// Not needed to log in, so loaded separately.
const Portal = lazyPage(() => import('./portal.tsx'))

const client = createQueryClient(() => client.setQueryData(SESSION_KEY, null))

function Root() {
  const {
    data: session,
    error,
    refetch,
  } = useQuery({ queryKey: SESSION_KEY, queryFn: fetchSession, staleTime: 60_000 })
  if (session === null) return <LogIn />
  if (session)
    return (
      <FaultBoundary at="">
        <Suspense>
          <Portal session={session} />
        </Suspense>
      </FaultBoundary>
    )
  return error ? <ProblemNote problem={problemOf(error)} onRetry={refetch} /> : null
}

const root = document.getElementById('root')
if (!root) throw new Error('the page has no root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <Root />
    </QueryClientProvider>
  </StrictMode>,
)
