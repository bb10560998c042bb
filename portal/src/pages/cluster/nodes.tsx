/** The machines that run apps, by region. */
import { useRegions } from '../../api/data.ts'
import { regionName } from '../../api/regions.ts'
import type { Cluster } from '../../api/types.ts'
import { bytes, number } from '../../components/facts/format.ts'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import css from './nodes.module.css'
import { Rest } from './rest.tsx'
import { nodeState, promisedShare } from './words.ts'

type Node = Cluster['nodes'][number]

export function Nodes({ cluster: { nodes, counts } }: { cluster: Cluster }) {
  const regions = useRegions()
  const columns: Column<Node>[] = [
    { head: 'Node', grow: true, cell: (node) => <Name name={node.name} detail={node.address} /> },
    { head: 'Region', cell: ({ region }) => (region ? regionName(regions, `regions/${region}`) : 'None') },
    { head: 'State', cell: (node) => <StatePill shown={nodeState(node)} /> },
    { head: 'Instances', align: 'right', cell: ({ instances }) => number(instances) },
    { head: 'Memory', align: 'right', cell: (node) => <Memory node={node} /> },
    { head: 'Docker', cell: ({ engine }) => engine || '–' },
    { head: 'Headland', cell: ({ version }) => version || '–' },
  ]
  return (
    <Panel title="Nodes" flush>
      <Table label="Nodes" columns={columns} items={nodes} keyOf={({ name, address }) => `${name} ${address}`} />
      <Rest shown={nodes.length} all={counts.nodes} />
    </Panel>
  )
}

export function Name({ name, detail }: { name: string; detail: string }) {
  return (
    <span className={css.name}>
      <span>{name}</span>
      <span className={css.detail}>{detail}</span>
    </span>
  )
}

/** The limits of the instances beside what the machine has. */
function Memory({ node }: { node: Node }) {
  const { promisedBytes, memoryBytes } = node
  if (memoryBytes === 0) return bytes(promisedBytes)
  const share = promisedShare(node)
  const title = 'What its instances may use at most, of the memory of the machine'
  return (
    <span className={css.memory} title={title}>
      <span>
        {bytes(promisedBytes)} of {bytes(memoryBytes)}
      </span>
      <span className={css.bar} aria-hidden="true">
        <span className={share > 1 ? css.over : css.filled} style={{ width: `${100 * Math.min(1, share)}%` }} />
      </span>
    </span>
  )
}
