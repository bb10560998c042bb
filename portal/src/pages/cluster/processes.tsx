/** The processes of the installation: those of the control machines, edges and workers, and what they work on. */
import type { ReactNode } from 'react'
import { TRIGGER_WORDS } from '../../api/live/state.ts'
import { partsOf } from '../../api/names.ts'
import type { Cluster } from '../../api/types.ts'
import { number } from '../../components/facts/format.ts'
import { Pill } from '../../components/facts/pill.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import css from './processes.module.css'
import { Rest } from './rest.tsx'
import { lagState, phaseWords, workerState } from './words.ts'

type Props = { cluster: Cluster }

const CONTROLS: Column<Cluster['controls'][number]>[] = [
  { head: 'Process', grow: true, cell: ({ process }) => <Process name={process} /> },
  {
    head: 'Part',
    cell: ({ leading }) => (leading ? <Pill tone="good">Leads</Pill> : <Pill tone="idle">Follows</Pill>),
  },
  { head: 'Edges', align: 'right', cell: ({ edges }) => number(edges) },
  { head: 'Nodes', align: 'right', cell: ({ nodes }) => number(nodes) },
  { head: 'Headland', cell: ({ version }) => version ?? '–' },
]

export function Controls({ cluster: { controls, counts } }: Props) {
  return (
    <List title="Control processes" shown={controls.length} all={counts.controls} none="None is on record.">
      <Table label="Control processes" columns={CONTROLS} items={controls} keyOf={({ process }) => process} />
    </List>
  )
}

const EDGES: Column<Cluster['edges'][number]>[] = [
  { head: 'Edge', grow: true, cell: ({ process }) => <Process name={process} /> },
  { head: 'Follows', cell: ({ control }) => <Process name={control} /> },
  { head: 'Purges', cell: ({ behind }) => <StatePill shown={lagState(behind)} /> },
]

export function EdgeList({ cluster: { edges, counts } }: Props) {
  return (
    <List title="Edges" shown={edges.length} all={counts.edges} none="No edge follows a control process.">
      <Table label="Edges" columns={EDGES} items={edges} keyOf={({ process }) => process} />
    </List>
  )
}

const WORKERS: Column<Cluster['workers'][number]>[] = [
  { head: 'Worker', grow: true, cell: ({ process }) => <Process name={process} /> },
  { head: 'Builds', cell: (worker) => <StatePill shown={workerState(worker)} /> },
  { head: 'Headland', cell: ({ version }) => version ?? '–' },
]

export function Workers({ cluster: { workers, counts } }: Props) {
  return (
    <List title="Workers" shown={workers.length} all={counts.workers} none="Nothing is being built.">
      <Table label="Workers" columns={WORKERS} items={workers} keyOf={({ process }) => process} />
    </List>
  )
}

const WORK: Column<Cluster['work'][number]>[] = [
  { head: 'App', grow: true, cell: ({ operation }) => <App operation={operation} /> },
  { head: 'Does', cell: ({ trigger, phase }) => `${TRIGGER_WORDS[trigger]}, ${phaseWords(phase)}` },
  { head: 'Process', cell: ({ process }) => <Process name={process} /> },
]

export function Work({ cluster: { work, counts } }: Props) {
  return (
    <List title="Work under way" shown={work.length} all={counts.work} none="Nothing is being done.">
      <Table label="Work under way" columns={WORK} items={work} keyOf={({ operation }) => operation} />
    </List>
  )
}

type ListProps = { title: string; shown: number; all: number; none: string; children: ReactNode }

function List({ title, shown, all, none, children }: ListProps) {
  return (
    <Panel title={title} flush={shown > 0}>
      {shown === 0 ? <p className={css.none}>{none}</p> : children}
      <Rest shown={shown} all={all} />
    </Panel>
  )
}

const Process = ({ name }: { name: string }) => <span className={css.process}>{name}</span>

/** Of any account: the operator is no member of most, so there is no link. */
function App({ operation }: { operation: string }) {
  const { account, app } = partsOf(operation)
  return (
    <span>
      <span className={css.account}>{account}</span> {app}
    </span>
  )
}
