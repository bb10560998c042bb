/** The most visited pages, and the addresses that visitors requested and the site does not have. */
import { useId } from 'react'
import { useResource } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import type { Environment, PathCount, TrafficPaths } from '../../api/types.ts'
import { ExternalLink } from '../../components/controls/button.tsx'
import { number } from '../../components/facts/format.ts'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { Skeleton } from '../../components/feedback/skeleton.tsx'
import { shareOf } from './disk/share.ts'
import { isWhole, readable } from './path-text.ts'
import css from './paths.module.css'
import type { Range } from './ranges.ts'

export function Paths({ place, range: { id, refreshMs } }: { place: Place; range: Range }) {
  const query = { range: id }
  const { data, problem, refresh } = useResource<TrafficPaths>(`${place.name}/trafficPaths`, { query, refreshMs })
  const { data: environment } = useResource<Environment>(place.name)
  const url = environment?.url ?? ''
  if (!data && problem) return <ProblemNote problem={problem} onRetry={refresh} title="Paths cannot be shown" />
  if (data?.isCounted === false) return null
  return (
    <>
      <List
        title="Most visited"
        about="Answered with 2xx or 304; files that pages load are left out"
        none="No page was answered with 2xx or 304."
        url={url}
        paths={data?.top}
      />
      <List
        title="Missing"
        about="Answered with 404: old links, or pages that moved"
        none="No requested address is missing."
        url={url}
        paths={data?.missing}
      />
    </>
  )
}

/** The page shows only a few; the API returns more. */
const SHOWN = 10

type ListProps = { title: string; about: string; none: string; url: string; paths: readonly PathCount[] | undefined }

function List({ title, about, none, url, paths }: ListProps) {
  const id = useId()
  const max = paths?.[0]?.requests ?? 0
  return (
    <section className={css.card} aria-labelledby={id}>
      <h2 id={id} className={css.title}>
        {title}
      </h2>
      <p className={css.about}>{about}</p>
      {!paths && <Skeleton width={12} />}
      {paths?.length === 0 && <p className={css.none}>{none}</p>}
      {paths && paths.length > 0 && (
        <ol className={css.list}>
          {paths.slice(0, SHOWN).map(({ path, requests }) => (
            <li key={path} className={css.row}>
              <span className={css.path}>
                {url && isWhole(path) ? (
                  <ExternalLink href={`${url}${path}`}>{readable(path)}</ExternalLink>
                ) : (
                  readable(path)
                )}
              </span>
              <span className={css.count}>{number(requests)}</span>
              <span className={css.bar} aria-hidden="true">
                <span style={{ width: `${100 * shareOf(requests, max)}%` }} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}
