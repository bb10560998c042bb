/** What a node and the control process that it follows tell each other. */
import type { Isolation } from '../swarm/index.ts'

/** What the firewalls of all nodes are made of. The revision rises when it changes. */
export type NodeRules = { revision: number; isolation: Isolation }

/** A machine that runs apps, as it describes itself. */
export type NodeDescription = {
  /** Of the node in the swarm. */
  id: string
  hostname: string
  address: string
  memoryBytes: number
  /** Of Docker. */
  engine: string
  /** Of Headland. */
  version: string
}

export type ControlMethodsForNode = {
  /** The first call of a connection, and another one when the node has changed. Null: there are no rules yet. */
  join(node: NodeDescription): Promise<NodeRules | null>
  /**
   * The kernel has been asked just now, and has the rules of this revision; null if it has not. Resolves to false if the node is
   * not on record, and has to join again.
   */
  confirm(revision: number | null): Promise<boolean>
  /** What its instances use, in bytes. */
  memory(used: Record<string, number>): void
}

export type NodeMethodsForControl = {
  setRules(rules: NodeRules): Promise<void>
}

/** How often a node asks the kernel, and confirms what it has. */
export const CONFIRM_MS = 3000

/** How often a node measures what its instances use. */
export const MEASURE_MS = 5000

const MAX_MEASURED = 5000

const TEXTS = { hostname: 253, address: 64, engine: 64, version: 64 } as const

/** It comes from another machine, and is shown to operators. */
export function checkDescription(given: Partial<NodeDescription> | null): NodeDescription {
  const { id, memoryBytes } = given ?? {}
  if (!isNodeId(id)) throw new Error('this is not the id of a node')
  if (!Number.isSafeInteger(memoryBytes) || Number(memoryBytes) < 0) throw new Error('this is no amount of memory')
  const texts = Object.entries(TEXTS).map(([key, max]) => {
    const text = given?.[key as keyof typeof TEXTS]
    if (typeof text !== 'string' || text.length > max || /\p{C}/u.test(text)) throw new Error(`${key} is not allowed`)
    return [key, text]
  })
  return { id, memoryBytes: Number(memoryBytes), ...(Object.fromEntries(texts) as Record<keyof typeof TEXTS, string>) }
}

/** It comes from another machine. */
export function checkMemory(given: Record<string, number> | null): Record<string, number> {
  const used = Object.entries(given ?? {})
  const isRight = ([id, bytes]: [string, number]) => isNodeId(id) && Number.isSafeInteger(bytes) && bytes >= 0
  if (used.length > MAX_MEASURED || !used.every(isRight)) throw new Error('this is not the memory of instances')
  return Object.fromEntries(used)
}

export const isNodeId = (id: unknown): id is string => typeof id === 'string' && /^[a-z0-9]{1,64}$/.test(id)
