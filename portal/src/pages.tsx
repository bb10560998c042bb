/** The pages of the portal and their paths. The code of a page is loaded when the page is first opened. */
import type { ComponentType } from 'react'
import { lazyPage } from './lazy-page.ts'
import type { AccountPageProps, EnvironmentPageProps } from './page-props.ts'

type AccountPage = { path: string; Page: ComponentType<AccountPageProps> }

export const ACCOUNT_PAGES: readonly AccountPage[] = [
  { path: '/:account/apps', Page: lazyPage(() => import('./pages/apps/page.tsx')) },
  { path: '/:account/new-app', Page: lazyPage(() => import('./pages/new-app/page.tsx')) },
  { path: '/:account/apps/:app', Page: lazyPage(() => import('./pages/app/page.tsx')) },
  { path: '/:account/apps/:app/new-environment', Page: lazyPage(() => import('./pages/new-environment/page.tsx')) },
  { path: '/:account/users', Page: lazyPage(() => import('./pages/users/page.tsx')) },
  { path: '/:account/api-access', Page: lazyPage(() => import('./pages/api-access/page.tsx')) },
  { path: '/:account/certificates', Page: lazyPage(() => import('./pages/certificates/page.tsx')) },
  { path: '/:account/notifications', Page: lazyPage(() => import('./pages/notifications/page.tsx')) },
  { path: '/:account/usage', Page: lazyPage(() => import('./pages/account-usage/page.tsx')) },
  { path: '/:account/audit', Page: lazyPage(() => import('./pages/audit/page.tsx')) },
  { path: '/:account/cluster', Page: lazyPage(() => import('./pages/cluster/page.tsx')) },
  { path: '/me', Page: lazyPage(() => import('./pages/me/page.tsx')) },
]

type EnvironmentPage = {
  /** Its path under that of the environment. */
  section: string
  /** Its name in the navigation; a page without one is reached by a link on another page. */
  title?: string
  group?: 'Settings'
  /** The keyboard shortcut: `g`, then this key. */
  key?: string
  Page: ComponentType<EnvironmentPageProps>
}

export const ENVIRONMENT_PAGES: readonly EnvironmentPage[] = [
  { section: '', title: 'Overview', key: 'o', Page: lazyPage(() => import('./pages/overview/page.tsx')) },
  { section: 'builds', title: 'Builds', key: 'b', Page: lazyPage(() => import('./pages/builds/page.tsx')) },
  { section: 'builds/:id', Page: lazyPage(() => import('./pages/build/page.tsx')) },
  {
    section: 'deployments',
    title: 'Deployments',
    key: 'd',
    Page: lazyPage(() => import('./pages/deployments/page.tsx')),
  },
  { section: 'logs', title: 'Logs', key: 'l', Page: lazyPage(() => import('./pages/logs/page.tsx')) },
  { section: 'requests', title: 'Requests', key: 'r', Page: lazyPage(() => import('./pages/requests/page.tsx')) },
  { section: 'usage', title: 'Usage', key: 'u', Page: lazyPage(() => import('./pages/usage/page.tsx')) },
  { section: 'triggers', title: 'Triggers', key: 't', Page: lazyPage(() => import('./pages/triggers/page.tsx')) },
  { section: 'publishes', title: 'Publishes', key: 'p', Page: lazyPage(() => import('./pages/publishes/page.tsx')) },
  {
    section: 'settings',
    title: 'General',
    group: 'Settings',
    key: 's',
    Page: lazyPage(() => import('./pages/settings/page.tsx')),
  },
  {
    section: 'settings/webhooks',
    title: 'Webhooks',
    group: 'Settings',
    key: 'w',
    Page: lazyPage(() => import('./pages/webhooks/page.tsx')),
  },
  {
    section: 'settings/repository',
    title: 'Repository',
    group: 'Settings',
    key: 'y',
    Page: lazyPage(() => import('./pages/repository/page.tsx')),
  },
  {
    section: 'settings/schedules',
    title: 'Schedules',
    group: 'Settings',
    key: 'h',
    Page: lazyPage(() => import('./pages/schedules/page.tsx')),
  },
  {
    section: 'settings/variables',
    title: 'Variables',
    group: 'Settings',
    key: 'v',
    Page: lazyPage(() => import('./pages/variables/page.tsx')),
  },
  {
    section: 'settings/domains',
    title: 'Domains',
    group: 'Settings',
    key: 'm',
    Page: lazyPage(() => import('./pages/domains/page.tsx')),
  },
]
