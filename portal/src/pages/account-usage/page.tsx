/** The disk usage of an account, its other limits, and how to free space. */
import { useResource } from '../../api/data.ts'
import type { AccountUsage } from '../../api/types.ts'
import { Curl } from '../../components/controls/curl.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { DiskKinds, DiskKindsComing } from '../usage/disk/disk-kinds.tsx'
import { Ceilings, CeilingsComing } from './ceilings.tsx'
import { LargestEnvironments } from './largest.tsx'
import css from './page.module.css'
import { QuotaBar } from './quota-bar.tsx'

/** Polled, as there are no events about disk usage, which changes with builds. */
const REFRESH_MS = 30_000

export default function AccountUsagePage(_: AccountPageProps) {
  const { account, canWrite } = useSession()
  const { data, problem, refresh } = useResource<AccountUsage>(`accounts/${account}/usage`, { refreshMs: REFRESH_MS })

  return (
    <Page title="Usage">
      <ProblemNote problem={problem} onRetry={refresh} />
      {(data || !problem) && (
        <>
          <Panel title="On the disk">
            <QuotaBar usage={data} />
            {data ? <DiskKinds kinds={data.kinds} label="On the disk, by kind" /> : <DiskKindsComing />}
          </Panel>
          <Panel title="Limits of the account">
            {data ? <Ceilings usage={data} /> : <CeilingsComing />}
            <p className={css.note}>The operator of the service can change them.</p>
          </Panel>
          {data?.environments.length === 0 ? (
            <Empty title="No environment uses disk space yet">What builds leave is counted here.</Empty>
          ) : (
            <Panel title="Largest environments" flush>
              {data ? <LargestEnvironments environments={data.environments} /> : <SkeletonRows count={3} />}
            </Panel>
          )}
          <FreeUpSpace account={account} canWrite={canWrite} />
        </>
      )}
    </Page>
  )
}

function FreeUpSpace({ account, canWrite }: { account: string; canWrite: boolean }) {
  return (
    <Panel title="To free space">
      <ul className={css.advice}>
        <li>
          {canWrite ? 'Delete environments that are not needed' : 'Environments that are not needed can be deleted'}, in
          their settings. What they hold alone is free a moment later.
        </li>
        <li>Leave folders out of the zip that the build does not read: archives become smaller.</li>
        <li>Old deployments, archives and logs go by themselves when newer ones take their place.</li>
        <li>The operator can raise the limit, or keep fewer deployments of each environment.</li>
      </ul>
      <Curl path={`/v1/accounts/${account}/usage`} />
    </Panel>
  )
}
