/** The facts about an environment, one per line. */
import { Link } from 'wouter'
import { useResource } from '../../api/data.ts'
import { environmentState } from '../../api/live/state.ts'
import { idOf, type Place, shortId } from '../../api/names.ts'
import type { SitePicture } from '../../api/site-picture.ts'
import type { Deployment, Environment } from '../../api/types.ts'
import { ExternalLink } from '../../components/controls/button.tsx'
import { CopyButton, CopyText } from '../../components/controls/copy.tsx'
import { counted } from '../../components/facts/format.ts'
import { By, CommitLine } from '../../components/facts/people.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { visibilityWords } from '../../components/facts/visibility.ts'
import { Skeleton } from '../../components/feedback/skeleton.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import { environmentPath } from '../../paths.ts'
import css from './details.module.css'
import { Picture } from './picture.tsx'

type Props = {
  place: Place
  environment: Environment
  /** Beside the facts; undefined where there is none and none is on its way. */
  picture: SitePicture | undefined
}

export function Details({ place, environment, picture }: Props) {
  const facts = <AllFacts place={place} environment={environment} />
  return (
    <Panel title="Details">
      {picture ? (
        <div className={css.around}>
          <div className={css.beside}>
            <Picture picture={picture} name={environment.displayName} url={environment.url} />
            {facts}
          </div>
        </div>
      ) : (
        facts
      )}
    </Panel>
  )
}

function AllFacts({ place, environment }: Omit<Props, 'picture'>) {
  const { url, domains, build, cmsEnvironment, createTime } = environment
  const { data: deployment } = useResource<Deployment>(environment.deployment, {
    enabled: environment.deployment !== '',
  })
  const shown = environmentState(environment, deployment)
  const { restarts = 0, running = 0 } = deployment?.instance ?? {}

  return (
    <Facts>
      <Fact name="Address">
        {url ? (
          <span className={css.tight}>
            <ExternalLink href={url}>{url}</ExternalLink>
            <CopyButton text={url} what="the address" />
          </span>
        ) : (
          <span className={css.quiet}>given in a moment</span>
        )}
      </Fact>
      {domains.length > 0 && (
        <Fact name="Domains">
          <Link href={environmentPath(place, 'settings/domains')}>{domains.join(', ')}</Link>
        </Fact>
      )}
      <Fact name="Status">
        <span className={css.line}>
          <StatePill shown={shown} />
          {shown.detail && <span className={css.quiet}>{shown.detail}</span>}
          {running > 1 && <span className={css.quiet}>{running} instances.</span>}
          {restarts > 0 && <span className={css.quiet}>Died by itself {counted(restarts, 'time')}.</span>}
        </span>
      </Fact>
      <Fact name="Deployment">
        {environment.deployment ? (
          <span className={css.line}>
            <Link href={environmentPath(place, 'deployments')}>{shortId(environment.deployment)}</Link>
            <span className={css.quiet}>
              first live {deployment?.liveTime ? <Time at={deployment.liveTime} /> : <Skeleton width={12} />}
              {deployment?.requestedBy && ', by'}
            </span>
            <By requester={deployment?.requestedBy ?? null} />
          </span>
        ) : (
          <span className={css.quiet}>none yet</span>
        )}
      </Fact>
      <Fact name="Build">
        {build ? (
          <span className={css.line}>
            <Link href={environmentPath(place, `builds/${idOf(build)}`)}>{shortId(build)}</Link>
            {deployment?.message && <bdi className={css.quiet}>{deployment.message}</bdi>}
            {deployment?.commit && <CommitLine commit={deployment.commit} />}
          </span>
        ) : (
          <span className={css.quiet}>none yet</span>
        )}
      </Fact>
      {environment.freshness && <Fact name="New content">{environment.freshness.advice}</Fact>}
      <Fact name="Visibility">
        <Link href={environmentPath(place, 'settings')}>{visibilityWords(environment)}</Link>
      </Fact>
      <Fact name="CMS install">{cmsEnvironment}</Fact>
      <Fact name="Environment id">
        <CopyText text={place.environment} what="the environment id" />
      </Fact>
      <Fact name="Created">
        <Time at={createTime} />
      </Fact>
    </Facts>
  )
}
