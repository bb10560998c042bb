/** Custom host names of the environment, beside the one that the service gave it. */
import { useState } from 'react'
import { useResource } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import type { Environment } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { HiddenNote } from '../../components/facts/hidden-note.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { AddDomain } from './add-domain.tsx'
import type { DomainList } from './change-domains.ts'
import { DnsHint } from './dns-hint.tsx'
import { Names } from './names.tsx'
import css from './page.module.css'
import { useChecks } from './use-checks.ts'

export default function DomainsPage({ place }: EnvironmentPageProps) {
  const { canWrite } = useSession()
  const { data: environment } = useResource<Environment>(place.name)
  const { data, problem, refresh } = useResource<DomainList>(`${place.name}/domains`)
  const checks = useChecks(place)
  const [added, setAdded] = useState<string>()
  const mayChange = canWrite && environment?.state !== 'DELETING'
  const url = environment?.url ?? ''
  const astray = checks.data?.checks.find(({ dns }) => dns.state !== 'HERE')?.domain
  const hasDomains = (data?.domains.length ?? 0) > 0

  return (
    <Page title="Domains">
      {!data && <ProblemNote problem={problem} onRetry={refresh} />}
      <HiddenNote place={place} environment={environment} />
      {mayChange && (
        <Panel title="Add a domain">
          <AddDomain place={place} onAdded={setAdded} />
        </Panel>
      )}
      <Panel
        title="Host names of this environment"
        flush
        actions={
          hasDomains && (
            <Button small busy={checks.isBusy} onClick={checks.again}>
              Check again
            </Button>
          )
        }
      >
        {!data || !environment ? (
          <SkeletonRows count={2} height={52} />
        ) : (
          <Names place={place} url={url} list={data} checks={checks.data} mayChange={mayChange} />
        )}
      </Panel>
      {hasDomains && <ProblemNote problem={checks.problem} title="The domains could not be checked" />}
      {data && !hasDomains && (
        <p className={css.quiet}>
          {mayChange
            ? 'No domain of your own yet. Add one above; the site answers on it at once, as soon as DNS leads here.'
            : 'No domain of your own yet. A developer or an owner can add one.'}
        </p>
      )}
      <DnsHint url={url} domain={added ?? astray ?? data?.domains[0]} records={checks.data?.records} />
      {mayChange && (
        <Curl
          command={headland(['domains', 'add', 'www.example.com'], at(place, environment?.displayName))}
          method="POST"
          path={`/v1/${place.name}/domains:replace`}
          body={{ domains: [...(data?.domains ?? []), 'www.example.com'] }}
        />
      )}
    </Page>
  )
}
