/** The disk usage of an environment. */
import { Link } from 'wouter'
import { useResource } from '../../../api/data.ts'
import type { Place } from '../../../api/names.ts'
import type { EnvironmentUsage } from '../../../api/types.ts'
import { bytes } from '../../../components/facts/format.ts'
import { Time } from '../../../components/facts/time.tsx'
import { ProblemNote } from '../../../components/feedback/problem-note.tsx'
import { Skeleton } from '../../../components/feedback/skeleton.tsx'
import { Panel } from '../../../components/layout/panel.tsx'
import { accountPath } from '../../../paths.ts'
import css from './disk.module.css'
import { DiskKinds, DiskKindsComing } from './disk-kinds.tsx'

/** Polled rarely: the service has to walk through folders, and little changes between builds. */
const REFRESH_MS = 60_000

export function Disk({ place }: { place: Place }) {
  const { data, problem, refresh } = useResource<EnvironmentUsage>(`${place.name}/usage`, { refreshMs: REFRESH_MS })
  return (
    <Panel title="On the disk" actions={<Link href={accountPath(place.account, 'usage')}>The whole account</Link>}>
      <ProblemNote problem={problem} onRetry={refresh} />
      {(data || !problem) && (
        <>
          <p className={css.total}>
            <strong>{data ? bytes(data.bytes) : <Skeleton width={7} />}</strong>
            <span className={css.when}>
              {data ? (
                <>
                  measured <Time at={data.measureTime} />
                </>
              ) : (
                ''
              )}
            </span>
          </p>
          {data ? <DiskKinds kinds={data.kinds} label="On the disk, by kind" /> : <DiskKindsComing />}
        </>
      )}
    </Panel>
  )
}
