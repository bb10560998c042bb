/** The portal after the log-in: the routes, and the frame around each page. */
import { Suspense } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { placeOf } from './api/names.ts'
import type { Session } from './api/types.ts'
import { Confirms } from './components/controls/confirm.tsx'
import { FaultBoundary } from './components/feedback/fault-boundary.tsx'
import { Toasts } from './components/feedback/toasts.tsx'
import { AccountFrame } from './frame/account-frame.tsx'
import { EnvironmentFrame } from './frame/environment-frame.tsx'
import { NotFound } from './pages/not-found.tsx'
import { ACCOUNT_PAGES, ENVIRONMENT_PAGES } from './pages.tsx'
import { appsPath } from './paths.ts'
import { lastAccount, rememberAccount } from './session/last-account.ts'
import { NoAccount } from './session/no-account.tsx'
import { accountsOf, SessionIn } from './session/session.tsx'

const ENVIRONMENT = '/:account/apps/:app/environments/:environment'

export default function Portal({ session }: { session: Session }) {
  return (
    <Toasts>
      <Confirms>
        <Pages session={session} />
      </Confirms>
    </Toasts>
  )
}

function Pages({ session }: { session: Session }) {
  const [location] = useLocation()
  const accounts = accountsOf(session)
  const [, first = ''] = location.split('/')
  const fallback = lastAccount(accounts)
  // `/me` is about the user; the account around it is the last used one.
  const account = accounts.includes(first) ? first : fallback
  if (account === undefined) return <NoAccount session={session} />
  if (first === '') return <Redirect to={appsPath(account)} replace />
  rememberAccount(account)

  return (
    <SessionIn session={session} account={account}>
      <AccountFrame>
        {first !== account && first !== 'me' ? (
          <NotFound title="There is nothing here" detail="The account does not exist, or you do not belong to it." />
        ) : (
          <Switch>
            <Route path="/:account">
              {first === 'me' ? <AccountPages /> : <Redirect to={appsPath(account)} replace />}
            </Route>
            <Route path={`${ENVIRONMENT}/*?`}>
              {({ app = '', environment = '' }) => <EnvironmentPages account={account} app={app} id={environment} />}
            </Route>
            <Route>
              <AccountPages />
            </Route>
          </Switch>
        )}
      </AccountFrame>
    </SessionIn>
  )
}

function AccountPages() {
  const [location] = useLocation()
  return (
    <FaultBoundary at={location}>
      <Suspense fallback={<PageIsComing />}>
        <Switch>
          {ACCOUNT_PAGES.map(({ path, Page }) => (
            <Route key={path} path={path}>
              {(parameters) => <Page {...(parameters as Record<string, string>)} />}
            </Route>
          ))}
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Suspense>
    </FaultBoundary>
  )
}

function EnvironmentPages({ account, app, id }: { account: string; app: string; id: string }) {
  const [location] = useLocation()
  const place = placeOf(account, app, id)
  return (
    <EnvironmentFrame key={place.name} place={place}>
      <FaultBoundary at={location}>
        <Suspense fallback={<PageIsComing />}>
          <Switch>
            {ENVIRONMENT_PAGES.map(({ section, Page }) => (
              <Route key={section} path={section ? `${ENVIRONMENT}/${section}` : ENVIRONMENT}>
                {(parameters) => <Page place={place} id={(parameters as { id?: string }).id ?? ''} />}
              </Route>
            ))}
            <Route>
              <NotFound />
            </Route>
          </Switch>
        </Suspense>
      </FaultBoundary>
    </EnvironmentFrame>
  )
}

/** Keeps the height of a page, so that the footer does not jump up. */
const PageIsComing = () => <div className="page-is-coming" />
