/** Host names of one's own that lead to the environment, beside the one it was given. */
import { useState } from 'react'
import { useResource } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import type { Place } from '../../api/names.ts'
import type { Environment } from '../../api/types.ts'
import type { EnvironmentPageProps } from '../../pages.tsx'
import { Button, ExternalLink } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Curl } from '../../parts/curl.tsx'
import { Page } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Pill } from '../../parts/pill.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { SkeletonRows } from '../../parts/skeleton.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSession } from '../../session/session.tsx'
import { AddDomain } from './add-domain.tsx'
import { changeDomains, type DomainList } from './change-domains.ts'
import { DnsHint } from './dns-hint.tsx'
import css from './page.module.css'
import { siteAt } from './site-address.ts'

export default function DomainsPage({ place }: EnvironmentPageProps) {
  const { canWrite } = useSession()
  const { data: environment } = useResource<Environment>(place.name)
  const { data, problem, refresh } = useResource<DomainList>(`${place.name}/domains`)
  const [added, setAdded] = useState<string>()
  const mayChange = canWrite && environment?.state !== 'DELETING'
  const url = environment?.url ?? ''

  return (
    <Page title="Domains">
      {!data && <ProblemNote problem={problem} onRetry={refresh} />}
      {mayChange && (
        <Panel title="Add a domain">
          <AddDomain place={place} onAdded={setAdded} />
        </Panel>
      )}
      <Panel title="Host names of this environment" flush>
        {!data || !environment ? (
          <SkeletonRows count={2} height={52} />
        ) : (
          <Names place={place} url={url} domains={data.domains} mayChange={mayChange} />
        )}
      </Panel>
      {data?.domains.length === 0 && (
        <p className={css.quiet}>
          {mayChange
            ? 'No domain of your own yet. Add one above; the site answers on it at once, as soon as DNS leads here.'
            : 'No domain of your own yet. Whoever may write here can add one.'}
        </p>
      )}
      <DnsHint url={url} domain={added ?? data?.domains[0]} />
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

type NamesProps = { place: Place; url: string; domains: readonly string[]; mayChange: boolean }
type Name = { host: string; isGiven: boolean }

function Names({ place, url, domains, mayChange }: NamesProps) {
  const confirm = useConfirm()
  const say = useToast()
  const own = url ? [{ host: new URL(url).host, isGiven: true }] : []
  const names: Name[] = [...own, ...domains.map((host) => ({ host, isGiven: false }))]

  const remove = (domain: string) =>
    confirm({
      title: `Remove ${domain}?`,
      stops: [
        `Visitors of ${domain} are told that there is no site, at once, whatever stands in DNS.`,
        'Another environment of this service may take the name.',
      ],
      children: `The site goes on answering on ${url ? new URL(url).host : 'its own name'}.`,
      label: 'Remove domain',
      async run() {
        await changeDomains(place.name, (before) => before.filter((each) => each !== domain))
        say(`${domain} is removed.`)
      },
    })

  const columns: Column<Name>[] = [
    {
      head: 'Name',
      grow: true,
      cell: ({ host, isGiven }) => (
        <span className={css.name}>
          <span className={css.line}>
            <ExternalLink href={isGiven ? url : siteAt(url, host)}>{host}</ExternalLink>
            <CopyButton text={host} what="the host name" />
          </span>
          {isGiven && (
            <Pill tone="idle" icon="dot">
              Given by the service
            </Pill>
          )}
        </span>
      ),
    },
    {
      head: 'Actions',
      quiet: true,
      align: 'right',
      cell: ({ host, isGiven }) =>
        mayChange &&
        !isGiven && (
          <Button small kind="quiet" onClick={() => remove(host)}>
            Remove<span className="sr-only"> {host}</span>
          </Button>
        ),
    },
  ]
  return <Table label="Host names" columns={columns} items={names} keyOf={({ host }) => host} />
}
