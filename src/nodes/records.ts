/**
 * The nodes on record, and the rules of their firewalls. The columns that come from the role belong to the connection by which a
 * node follows a control process; those of the swarm are written by the leader.
 */
import type { Changes } from '../base/index.ts'
import { list, type Sql, statement, type Term, type Transaction } from '../storage/index.ts'
import type { Isolation } from '../swarm/index.ts'
import type { NodeDescription, NodeRules } from './messages.ts'

/** A type and not an interface, as rows of a query are. */
export type NodeRow = {
  /** Of the node in the swarm. */
  id: string
  hostname: string
  address: string
  /** Empty: no app is placed there. */
  region: string
  /** Of the swarm: `ready`, `down`, `drain` or `pause`; empty before the leader has looked. */
  state: string
  /** For which its join token was made; empty while the role has never run there. */
  name: string
  process: string
  connection: number
  /** The control process that it follows, or followed last. */
  control: string
  /** The revision of the rules that its kernel has; 0 if that is not known. */
  confirmed: number
  /** Raised with each confirmation. */
  heartbeats: number
  memory: number
  /** The versions of Docker and of Headland. */
  engine: string
  version: string
}

/** A node as the swarm has it. */
export type SwarmMember = Pick<NodeRow, 'id' | 'hostname' | 'address' | 'region' | 'state'>

export type NodeConnection = { name: string; process: string; connection: number; control: string }

/** Followers of no account. */
const HINTS = 'cluster nodes'

/** Another machine has the name, or the node has another name. */
export class NodeRefused extends Error {}

type Parts = {
  sql: Sql
  /** Tells of changes by other processes. */
  changes: Pick<Changes, 'follow'>
}

export function createNodeRecords({ sql, changes }: Parts) {
  const hint = (tx: Transaction) => tx.notify(HINTS, 'nodes')

  return {
    nodes: () =>
      sql.query<NodeRow>(statement`
        SELECT id, hostname, address, region, state, name, process, connection, control, confirmed, heartbeats, memory,
          engine, version
        FROM cluster_nodes ORDER BY region, hostname, id`),

    async rules(): Promise<NodeRules | undefined> {
      const [row] = await sql.query<RulesRow>(
        statement`SELECT revision, rules FROM node_rules WHERE name = 'isolation'`,
      )
      return row && { revision: row.revision, isolation: JSON.parse(row.rules) as Isolation }
    },

    setRules: (isolation: Isolation) =>
      sql.transaction(async (tx) => {
        const rules = JSON.stringify(isolation)
        const [known] = await tx.query<RulesRow>(
          statement`SELECT revision, rules FROM node_rules WHERE name = 'isolation'`,
        )
        if (known?.rules === rules) return
        const revision = (known?.revision ?? 0) + 1
        await tx.query(statement`
          INSERT INTO node_rules (name, revision, rules) VALUES ('isolation', ${revision}, ${rules})
          ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, rules = excluded.rules`)
        hint(tx)
      }),

    /** What it has confirmed stays good where its machine was not started anew: the kernel has kept the rules. */
    join: (node: NodeDescription, connection: NodeConnection) =>
      sql.transaction(async (tx) => {
        await join(tx, node, connection)
        hint(tx)
      }),

    /** False if the node has a later connection, or is not on record. Null: its kernel does not have the rules. */
    confirm: (id: string, { process, connection, control }: NodeConnection, revision: number | null) =>
      sql.transaction(async (tx) => {
        const [before] = await tx.query<{ confirmed: number }>(statement`
          SELECT confirmed FROM cluster_nodes
          WHERE id = ${id} AND process = ${process} AND connection = ${connection} AND control = ${control}`)
        if (!before) return false
        await tx.query(statement`
          UPDATE cluster_nodes SET confirmed = ${revision ?? 0}, heartbeats = heartbeats + 1 WHERE id = ${id}`)
        if (before.confirmed !== (revision ?? 0)) hint(tx)
        return true
      }),

    /** Nothing was confirmed for a lease, if that is still so. */
    expire: ({ id, heartbeats }: Pick<NodeRow, 'id' | 'heartbeats'>) =>
      sql.transaction(async (tx) => {
        const found = await tx.query(statement`
          UPDATE cluster_nodes SET confirmed = 0
          WHERE id = ${id} AND heartbeats = ${heartbeats} AND confirmed > 0 RETURNING id`)
        if (found.length > 0) hint(tx)
        return found.length > 0
      }),

    /** What the swarm says. Nodes that have left it are forgotten; one that has just joined it joins here again. */
    observe: (members: readonly SwarmMember[], term: Term) =>
      sql.transaction(async (tx) => {
        await term.check(tx)
        const known = await tx.query<SwarmMember>(
          statement`SELECT id, hostname, address, region, state FROM cluster_nodes`,
        )
        const rows = new Map(known.map((row) => [row.id, row]))
        const changed = members.filter((member) => !isSame(rows.get(member.id), member))
        for (const { id, hostname, address, region, state } of changed)
          await tx.query(statement`
            INSERT INTO cluster_nodes (id, hostname, address, region, state)
            VALUES (${id}, ${hostname}, ${address}, ${region}, ${state})
            ON CONFLICT (id) DO UPDATE SET hostname = excluded.hostname, address = excluded.address,
              region = excluded.region, state = excluded.state`)
        const ids = new Set(members.map(({ id }) => id))
        const gone = known.flatMap(({ id }) => (ids.has(id) ? [] : id))
        if (gone.length > 0) await tx.query(statement`DELETE FROM cluster_nodes WHERE id IN (${list(gone)})`)
        if (changed.length > 0 || gone.length > 0) hint(tx)
      }),

    /** Calls back soon after another process has changed something. It is a hint, and may not come. */
    onHint: (listener: () => void): (() => void) => changes.follow(HINTS, listener),
  }
}

export type NodeRecords = ReturnType<typeof createNodeRecords>

type RulesRow = { revision: number; rules: string }

const isSame = (row: SwarmMember | undefined, member: SwarmMember): boolean =>
  row !== undefined && (Object.keys(member) as (keyof SwarmMember)[]).every((key) => row[key] === member[key])

/** By the names that processes have: they begin with the machine's last start. */
function isSameBoot(one: string, other: string): boolean {
  const bootOf = (process: string) => /^[0-9a-f-]{36}(?=\/)/.exec(process)?.[0]
  return bootOf(one) !== undefined && bootOf(one) === bootOf(other)
}

async function join(tx: Transaction, node: NodeDescription, { name, process, connection, control }: NodeConnection) {
  const { id, hostname, address, memoryBytes, engine, version } = node
  const known = await tx.query<NodeRow>(statement`
    SELECT id, name, process, connection, confirmed FROM cluster_nodes WHERE id = ${id} OR name = ${name}`)
  const own = known.find((row) => row.id === id)
  const namesake = known.find((row) => row.id !== id && row.confirmed > 0)
  if (namesake) throw new NodeRefused(`the token of ${name} is used by another node of the swarm, ${namesake.id}`)
  if (own && own.name !== '' && own.name !== name && own.confirmed > 0)
    throw new NodeRefused(`the node ${id} has connected with the token of ${own.name}, and not of ${name}`)
  if (own?.process === process && own.connection > connection)
    throw new NodeRefused(`the node ${id} has a later connection`)
  const confirmed = own && isSameBoot(own.process, process) ? own.confirmed : 0
  await tx.query(statement`UPDATE cluster_nodes SET name = '' WHERE name = ${name} AND id <> ${id}`)
  await tx.query(statement`
    INSERT INTO cluster_nodes (id, hostname, address, name, process, connection, control, confirmed, memory, engine, version)
    VALUES (${id}, ${hostname}, ${address}, ${name}, ${process}, ${connection}, ${control}, 0, ${memoryBytes}, ${engine},
      ${version})
    ON CONFLICT (id) DO UPDATE SET hostname = excluded.hostname, address = excluded.address, name = excluded.name,
      process = excluded.process, connection = excluded.connection, control = excluded.control,
      confirmed = ${confirmed}, memory = excluded.memory, engine = excluded.engine, version = excluded.version`)
}
