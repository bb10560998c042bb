/** What the control processes of a service share about purges and edges. The rows are the truth for all of them. */
import type { Purge } from '../cache/index.ts'
import type { MissedPurges } from './messages.ts'

/** A control process. It alone raises the number, so two equal ones mean that it has done nothing in between. */
export type ControlRow = {
  process: string
  heartbeats: number
  /** The revision of the routes that all its edges use; null until it has published any. */
  routed: number | null
}

/** An edge's connection to a control process: of two, the one with the higher number is the later. */
export type EdgeConnection = { process: string; connection: number }

/** An edge that may use what it has stored, and the control process that it follows. */
export type EdgeRow = EdgeConnection & {
  control: string
  /** The number up to which it has certainly applied all purges; what its own control process purged may be missing. */
  applied: number
}

export type EdgeRecords = {
  /** Records a purge. A process that sees a number sees all lower ones. */
  addPurge(purge: Purge): Promise<number>
  purgesSince(number: number): Promise<MissedPurges>
  /** The number of the newest purge; 0 if there is none. */
  lastPurge(): Promise<number>

  controls(): Promise<ControlRow[]>
  edges(): Promise<EdgeRow[]>
  /**
   * The control process is there, with these edges: they are recorded again if another one has removed it. An edge that is added
   * follows it from now on, unless it has a later connection.
   */
  heartbeat(
    control: Pick<ControlRow, 'process' | 'heartbeats'>,
    edges: readonly EdgeConnection[],
    added?: EdgeConnection,
  ): Promise<{ wasKnown: boolean; isAdded: boolean }>
  /** The edges of this control process use the routes of this revision. */
  setRouted(control: string, revision: number): Promise<void>
  /** Edges of this control process have applied all purges up to these numbers. */
  confirm(control: string, applied: ReadonlyMap<string, number>): Promise<void>
  /** The edge has no lease any more, unless it follows another control process. */
  removeEdge(edge: EdgeConnection, control: string): Promise<void>
  /** The control process grants no leases any more. Its edges stay on record. */
  removeControl(process: string): Promise<void>
  /** Removes a control process with its edges, if it has done nothing since. Null: it was not on record. `by` has to be on record. */
  fence(gone: { process: string; heartbeats: number | null }, by: string): Promise<boolean>

  /** Calls back soon after another process recorded a purge, with its number, or a confirmation. It is a hint, and may not come. */
  onHint(listener: (purge: number | undefined) => void): () => void
  /** Whether the process of an edge is gone; true only when it is certain. */
  isGone(process: string): boolean
}
