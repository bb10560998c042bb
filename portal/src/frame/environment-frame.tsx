/** The frame of an environment's pages: the breadcrumbs, its state, and the links to its other pages. */
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { useResource } from '../api/data.ts'
import type { Place } from '../api/names.ts'
import type { Environment } from '../api/types.ts'
import { AboutContext, Crumbs } from '../components/layout/page.tsx'
import { NotFound } from '../pages/not-found.tsx'
import { ENVIRONMENT_PAGES } from '../pages.tsx'
import { appPath, appsPath, environmentPath } from '../paths.ts'
import css from './environment-frame.module.css'

const SHOWN = ENVIRONMENT_PAGES.filter(({ title }) => title !== undefined)

export function EnvironmentFrame({ place, children }: { place: Place; children: ReactNode }) {
  const environment = useResource<Environment>(place.name)
  const name = environment.data?.displayName ?? ''
  if (!environment.data && (environment.problem?.status === 404 || environment.problem?.status === 400)) {
    return <NotFound title="There is no such environment" detail="It may have been deleted, or the address is wrong." />
  }
  return (
    <AboutContext value={name}>
      <div className={css.crumbs}>
        <Crumbs
          crumbs={[
            { text: 'Apps', href: appsPath(place.account) },
            { text: place.app, href: appPath(place.account, place.app) },
            { text: name || '…', href: environmentPath(place) },
          ]}
        />
      </div>
      <div className={css.columns}>
        <EnvironmentNav place={place} />
        <div className={css.content}>{children}</div>
      </div>
    </AboutContext>
  )
}

function EnvironmentNav({ place }: { place: Place }) {
  const [location] = useLocation()
  const list = useRef<HTMLElement>(null)

  // Where the links are a scrolling row, the current one is scrolled into view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs again when another page is opened
  useEffect(() => {
    const [row, link] = [list.current, list.current?.querySelector<HTMLElement>('[aria-current]')]
    if (row && link) row.scrollLeft = link.offsetLeft - (row.clientWidth - link.clientWidth) / 2
  }, [location])

  return (
    <nav ref={list} className={css.nav} aria-label="Environment">
      {SHOWN.map(({ section, title, group }, index) => {
        const href = environmentPath(place, section)
        const isHere = location === href || (section === 'builds' && location.startsWith(`${href}/`))
        const isFirst = group !== undefined && SHOWN[index - 1]?.group !== group
        return (
          <div key={section} className={css.entry}>
            {isFirst && <span className={css.group}>{group}</span>}
            <Link href={href} className={css.link} aria-current={isHere ? 'page' : undefined}>
              {title}
            </Link>
          </div>
        )
      })}
    </nav>
  )
}
