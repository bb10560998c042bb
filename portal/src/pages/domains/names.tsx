/** The host names of an environment: where DNS leads them, their certificates, and which of them redirect. */
import { useAction } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import type { DomainCheck, DomainChecks } from '../../api/types.ts'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { CopyButton } from '../../components/controls/copy.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { changeDomains, type DomainList, redirected, twinsIn } from './change-domains.ts'
import css from './names.module.css'
import { siteAt } from './site-address.ts'
import { certificateWords, dnsWords, type StateText } from './words.ts'

type Props = {
  place: Place
  url: string
  list: DomainList
  checks: DomainChecks | undefined
  mayChange: boolean
}
type Name = { host: string; isGiven: boolean; redirectTo: string | undefined; check: DomainCheck | undefined }

export function Names({ place, url, list, checks, mayChange }: Props) {
  const confirm = useConfirm()
  const say = useToast()
  const { domains, redirects } = list
  const own: Name[] = url ? [{ host: new URL(url).host, isGiven: true, redirectTo: undefined, check: undefined }] : []
  const names: Name[] = [
    ...own,
    ...domains.map((host) => ({
      host,
      isGiven: false,
      redirectTo: redirects.find(({ domain }) => domain === host)?.to,
      check: checks?.checks.find(({ domain }) => domain === host),
    })),
  ]

  const redirect = useAction(
    async ({ domain, to }: { domain: string; to: string | undefined }) => {
      await changeDomains(place.name, (before) => ({
        domains: before.domains,
        redirects: redirected(before.redirects, domain, to),
      }))
      say(to === undefined ? `${domain} answers with the site.` : `${domain} redirects to ${to}.`)
    },
    { refreshes: [`${place.name}/domains`] },
  )

  const remove = (domain: string) => {
    const sources = redirects.filter(({ to }) => to === domain).map((each) => each.domain)
    return confirm({
      title: `Remove ${domain}?`,
      stops: [
        `Visitors of ${domain} get an error page at once, even if DNS still leads here.`,
        'Another environment of this service may take the name.',
        ...(sources.length > 0 ? [`${sources.join(', ')} no longer redirects, and answers with the site.`] : []),
      ],
      children: `The site goes on answering on ${url ? new URL(url).host : 'its own name'}.`,
      label: 'Remove domain',
      async run() {
        await changeDomains(place.name, (before) => ({ domains: before.domains.filter((each) => each !== domain) }))
        say(`${domain} is removed.`)
      },
    })
  }

  const columns: Column<Name>[] = [
    {
      head: 'Name',
      grow: true,
      cell: (name) => (
        <span className={css.cell}>
          <NameCell {...name} url={url} />
          {domains.length > 1 && visitorsGet(name)}
        </span>
      ),
    },
    { head: 'DNS', cell: ({ isGiven, check }) => !isGiven && <State state={check && dnsWords(check.dns)} /> },
    {
      head: 'Certificate',
      cell: ({ isGiven, check }) => !isGiven && check && <State state={certificateWords(check.certificate)} none="–" />,
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

  function visitorsGet({ host, isGiven, redirectTo }: Name) {
    if (isGiven) return null
    if (!mayChange) return redirectTo && <span className={css.detail}>Redirects to {redirectTo}</span>
    return (
      <select
        className={css.select}
        aria-label={`What visitors of ${host} get`}
        value={redirectTo ?? ''}
        disabled={redirect.isBusy}
        onChange={(event) => redirect.run({ domain: host, to: event.target.value || undefined })}
      >
        <option value="">Answers with the site</option>
        {domains
          .filter((each) => each !== host)
          .map((each) => (
            <option key={each} value={each}>
              Redirects to {each}
            </option>
          ))}
      </select>
    )
  }

  const twins = mayChange ? twinsIn(list) : undefined
  return (
    <>
      <Table label="Host names" columns={columns} items={names} keyOf={({ host }) => host} />
      {redirect.problem && (
        <div className={css.foot}>
          <ProblemNote problem={redirect.problem} />
        </div>
      )}
      {twins && (
        <div className={css.foot}>
          <p className={css.quiet}>
            Both {twins.apex} and {twins.www} answer with the site. Let one redirect to the other, so that search
            engines and caches see one address.
          </p>
          <p className={css.buttons}>
            <Button small onClick={() => redirect.run({ domain: twins.apex, to: twins.www })}>
              Redirect to {twins.www}
            </Button>
            <Button small onClick={() => redirect.run({ domain: twins.www, to: twins.apex })}>
              Redirect to {twins.apex}
            </Button>
          </p>
        </div>
      )}
    </>
  )
}

function NameCell({ host, isGiven, url }: Name & { url: string }) {
  return (
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
  )
}

/** Undefined means "checking", unless `none` is given. */
function State({ state, none }: { state: StateText | undefined; none?: string }) {
  if (!state) return none ? <span className={css.quiet}>{none}</span> : <Pill tone="busy">Checking</Pill>
  return (
    <span className={css.state}>
      <Pill tone={state.tone}>{state.word}</Pill>
      {state.detail && <span className={css.detail}>{state.detail}</span>}
    </span>
  )
}
