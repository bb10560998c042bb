/** `headland cluster status`. */
import { bytesInWords, printableLine } from '../../base/index.ts'
import {
  type ClusterStatus,
  createLabels,
  type Finding,
  findings,
  knownHosts,
  readStatus,
} from '../../cluster-status/index.ts'
import { EXIT, table } from '../../contract/index.ts'
import type { CommandCall } from '../command.ts'

export async function show({ services, folder, options, print }: CommandCall): Promise<number> {
  const { sql, clock, operations } = await services()
  const status = await readStatus({
    ...{ sql, clock },
    version: folder.version,
    isShared: folder.databaseUrl !== undefined,
    atWork: operations.atWork,
  })
  const found = findings(status)
  print(options.json ? JSON.stringify({ ...status, findings: found }) : textOf(status, found))
  return found.some(({ state }) => state === 'broken') ? EXIT.caller : EXIT.done
}

function textOf(status: ClusterStatus, found: readonly Finding[]): string {
  const { leader, controls, edges, workers, nodes, working, rules, lastPurge } = status
  const label = createLabels(knownHosts(status))
  const shownNodes = nodes.map((node) => ({
    region: node.region || '-',
    node: node.hostname || node.id,
    token: node.name || '-',
    address: node.address,
    state: node.state || '-',
    isolation: node.isConfirmed ? 'confirmed' : 'not confirmed',
    instances: String(node.instances),
    promised: bytesInWords(node.promisedBytes),
    memory: node.memoryBytes > 0 ? bytesInWords(node.memoryBytes) : '-',
    docker: node.engine || '-',
    headland: node.version || '-',
  }))
  const parts = [
    `Leader: ${leader ? `${leader.holder}, term ${leader.term}` : 'none yet'}`,
    section(
      'Control processes',
      controls.map((one) => ({
        process: label(one.process),
        leads: one.isLeading ? 'yes' : '-',
        edges: String(one.edges),
        nodes: String(one.nodes),
        headland: one.version || '-',
      })),
    ),
    section(
      `Edges; the last purge is number ${lastPurge}`,
      edges.map((one) => ({
        edge: label(one.process),
        follows: label(one.control),
        applied: String(one.applied),
        behind: one.behind === 0 ? '0' : `${one.behind} at most`,
      })),
    ),
    section(
      'Workers',
      workers.map((one) => ({
        process: label(one.process),
        builds: String(one.builds),
        places: one.places === null ? '-' : String(one.places),
        seen: `${Math.round(one.silentMs / 1000)} s ago`,
        headland: one.version || '-',
      })),
    ),
    section(`Nodes; their rules have revision ${rules?.revision ?? 0}`, shownNodes),
    section(
      'Work under way',
      working.map((one) => ({
        process: label(one.owner),
        queue: one.queue,
        operation: one.id,
        does: `${one.trigger} ${one.phase}`,
        app: one.app,
        environment: one.environment,
      })),
    ),
    found.length === 0
      ? 'Nothing is wrong.'
      : section(
          'What is wrong',
          found.map((one) => ({ ...one })),
        ),
  ]
  return parts.join('\n\n')
}

/** Names come from other machines. */
const section = (title: string, rows: readonly Record<string, string>[]): string =>
  `${title}\n${rows.length === 0 ? 'none' : table(rows.map(printableRow))}`

const printableRow = (row: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(row).map(([key, text]) => [key, printableLine(text)]))
