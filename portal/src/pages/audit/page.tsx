/** The audit log: who changed what in the account, and when. */
import { useMemo } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useList } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import type { AuditAction, AuditEvent } from '../../api/types.ts'
import { AddressSearch } from '../../components/controls/address-search.tsx'
import { Choices } from '../../components/controls/choices.tsx'
import { More } from '../../components/controls/more.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { accountPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { AuditTable } from './audit-table.tsx'
import css from './page.module.css'
import { ACTIONS, actionIn, PERIODS, type Period, periodIn, startOf } from './words.ts'

const MAX_NAME_LENGTH = 254

export default function AuditPage(_: AccountPageProps) {
  const { account, canOwn } = useSession()
  const [search] = useSearchParams()
  const action = actionIn(search.get('action'))
  const by = search.get('by')?.slice(0, MAX_NAME_LENGTH) || undefined
  const period = periodIn(search.get('period'))
  const startTime = useMemo(() => period && startOf(period, Date.now()), [period])
  const path = `accounts/${account}/auditEvents`
  const events = useList<AuditEvent>(path, 'auditEvents', { query: { action, by, startTime }, enabled: canOwn })
  const { items, problem } = events
  const isFiltered = action !== undefined || by !== undefined || period !== undefined

  if (!canOwn) {
    return (
      <Page title="Audit log">
        <Empty title="For owners">The audit log of an account is shown to its owners.</Empty>
      </Page>
    )
  }
  return (
    <Page title="Audit log">
      <p className={css.quiet}>
        Who changed what, and when: names only, never values. What is read is not in it.{' '}
        <a href="/docs/guides/audit-log">Guide</a>
      </p>
      <ProblemNote problem={problem} onRetry={events.refresh} />
      <div className={css.filters}>
        <Periods account={account} period={period} />
        <Actions action={action} />
        <AddressSearch label="Who" parameter="by" maxLength={MAX_NAME_LENGTH} />
        {isFiltered && <Link href={accountPath(account, 'audit')}>Show all</Link>}
      </div>
      {!items && !problem && (
        <Panel flush>
          <SkeletonRows count={6} height={60} />
        </Panel>
      )}
      {items?.length === 0 && !isFiltered && <NoEvents account={account} />}
      {items?.length === 0 && isFiltered && (
        <p className={css.quiet} role="status">
          No such change is recorded.
        </p>
      )}
      {items && items.length > 0 && (
        <Panel flush>
          <AuditTable account={account} events={items} />
        </Panel>
      )}
      <More of={events}>Show more</More>
    </Page>
  )
}

function Periods({ account, period }: { account: string; period: Period | undefined }) {
  const [search] = useSearchParams()
  const href = (to: Period | undefined) => {
    const next = new URLSearchParams(search)
    if (to) next.set('period', to)
    else next.delete('period')
    const text = next.toString()
    return `${accountPath(account, 'audit')}${text ? `?${text}` : ''}`
  }
  const choices = [[undefined, 'All'], ...Object.entries(PERIODS)] as [Period | undefined, string][]
  return (
    <Choices label="When" choices={choices.map(([to, text]) => ({ text, href: href(to), isChosen: to === period }))} />
  )
}

function Actions({ action }: { action: AuditAction | undefined }) {
  const [, setSearch] = useSearchParams()
  return (
    <select
      className={css.select}
      aria-label="What"
      value={action ?? ''}
      onChange={({ target: { value } }) =>
        setSearch((before) => {
          const next = new URLSearchParams(before)
          if (value) next.set('action', value)
          else next.delete('action')
          return next
        })
      }
    >
      <option value="">All changes</option>
      {Object.entries(ACTIONS).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
}

function NoEvents({ account }: { account: string }) {
  return (
    <Empty title="No changes yet">
      <p>
        Changes by users, by programs and by the operator appear here from now on: apps, variables, domains, users, API
        access and log-ins. From a terminal:
      </p>
      <pre className={css.call}>{headland(['audit'], { account })}</pre>
    </Empty>
  )
}
