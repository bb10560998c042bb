/** Compares the live deployment with another one, and explains what making that one live does. */
import { useResource } from '../../api/data.ts'
import { TRIGGER_WORDS } from '../../api/live/state.ts'
import { shortId } from '../../api/names.ts'
import type { Build, Deployment } from '../../api/types.ts'
import { Sent } from '../../components/facts/people.tsx'
import { Time } from '../../components/facts/time.tsx'
import { Skeleton } from '../../components/feedback/skeleton.tsx'
import css from './comparison.module.css'

type Props = { live: Deployment | undefined; next: Deployment }

export function Comparison({ live, next }: Props) {
  const { data: nextBuild } = useResource<Build>(next.build)
  const { data: liveBuild } = useResource<Build>(live?.build ?? '', { enabled: live !== undefined })
  return (
    <>
      <table className={css.table}>
        <thead>
          <tr>
            <td />
            {live && <th scope="col">Live now</th>}
            <th scope="col">Live then</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Deployment</th>
            {live && (
              <td>
                <code>{shortId(live.name)}</code>
              </td>
            )}
            <td>
              <code>{shortId(next.name)}</code>
            </td>
          </tr>
          <tr>
            <th scope="row">Build</th>
            {live && <BuildCell name={live.build} build={liveBuild} />}
            <BuildCell name={next.build} build={nextBuild} />
          </tr>
          {(next.message !== '' || next.commit || live?.message || live?.commit) && (
            <tr>
              <th scope="row">Message</th>
              {live && (
                <td>
                  <Sent message={live.message} commit={live.commit} />
                </td>
              )}
              <td>
                <Sent message={next.message} commit={next.commit} />
              </td>
            </tr>
          )}
          <tr>
            <th scope="row">Made</th>
            {live && (
              <td>
                <Time at={live.createTime} />
              </td>
            )}
            <td>
              <Time at={next.createTime} />
            </td>
          </tr>
          <tr>
            <th scope="row">Archive</th>
            {live && <td>{liveBuild ? <code>{digestOf(liveBuild)}</code> : <Skeleton />}</td>}
            <td>
              {nextBuild ? <code>{digestOf(nextBuild)}</code> : <Skeleton />}
              {nextBuild && liveBuild && (
                <span className={css.quiet}>
                  {nextBuild.archive.digest === liveBuild.archive.digest ? ' the same' : ' another one'}
                </span>
              )}
            </td>
          </tr>
        </tbody>
      </table>
      <ul className={css.list}>
        {live && live.build === next.build && <li>Both are of the same build; they differ in their variables.</li>}
        <li>
          It runs with the variables it was made with, <Time at={next.createTime} />. What was changed since does not
          apply to it.
        </li>
        <li>It is started beside the live one and takes over when it answers. No request is lost.</li>
        <li>The cache is purged after that.</li>
        <li>
          No build is made. If it is not of the newest upload, the environment is pinned to it: rebuilds and webhooks
          build its archive, until an upload is live or you unpin it.
        </li>
      </ul>
    </>
  )
}

function BuildCell({ name, build }: { name: string; build: Build | undefined }) {
  return (
    <td>
      <code>{shortId(name)}</code>{' '}
      {build ? <span className={css.quiet}>{TRIGGER_WORDS[build.trigger]}</span> : <Skeleton width={8} />}
    </td>
  )
}

/** The beginning of a digest is enough to compare archives. */
const digestOf = ({ archive }: Build): string => archive.digest.replace(/^sha256:/, '').slice(0, 12)
