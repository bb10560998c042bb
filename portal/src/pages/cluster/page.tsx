/** The processes and machines of the installation, for its operators. */
import { useResource } from '../../api/data.ts'
import type { Cluster } from '../../api/types.ts'
import { Curl } from '../../components/controls/curl.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { NotFound } from '../not-found.tsx'
import { Findings } from './findings.tsx'
import { Nodes } from './nodes.tsx'
import css from './page.module.css'
import { Controls, EdgeList, Work, Workers } from './processes.tsx'
import { overallState, partsInWords } from './words.ts'

/** Polled, as the stream of changes is about an account. */
const REFRESH_MS = 5_000

export default function ClusterPage(_: AccountPageProps) {
  const { isOperator } = useSession()
  return isOperator ? <ForOperators /> : <NotFound />
}

function ForOperators() {
  const { data, problem, refresh } = useResource<Cluster>('cluster', { refreshMs: REFRESH_MS })
  return (
    <Page title="Cluster" beside={data && <StatePill shown={overallState(data)} />}>
      <ProblemNote problem={problem} onRetry={refresh} />
      {data ? <Shown cluster={data} /> : !problem && <Coming />}
    </Page>
  )
}

function Shown({ cluster }: { cluster: Cluster }) {
  const hasNodes = cluster.nodes.length > 0
  const isOneMachine = !cluster.shared && !hasNodes
  return (
    <>
      <Findings cluster={cluster} />
      <Panel title="Installation">
        <Facts>
          <Fact name="Runs on">{isOneMachine ? 'One machine' : partsInWords(cluster)}</Fact>
          <Fact name="Leader">
            {cluster.leader ? (
              <>
                {cluster.leader.process} <span className={css.quiet}>term {cluster.leader.term}</span>
              </>
            ) : (
              'None yet'
            )}
          </Fact>
          <Fact name="Headland">{cluster.version}</Fact>
        </Facts>
        {isOneMachine && (
          <p className={css.quiet}>
            Where one machine is not enough, <a href="/docs/operate/cluster">several share the work</a>, and are shown
            here.
          </p>
        )}
        <Curl path="/v1/cluster" command="headland cluster status" isOfOperator />
      </Panel>
      {hasNodes && <Nodes cluster={cluster} />}
      <div className={css.pair}>
        <Controls cluster={cluster} />
        <EdgeList cluster={cluster} />
        <Workers cluster={cluster} />
        <Work cluster={cluster} />
      </div>
    </>
  )
}

/** As high as most of what it stands for. */
const Coming = () => (
  <>
    <Panel title="Installation">
      <SkeletonRows count={3} height={36} />
    </Panel>
    <Panel title="Nodes" flush>
      <SkeletonRows count={3} />
    </Panel>
  </>
)
