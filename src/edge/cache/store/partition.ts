/** What is stored for one environment, and what of it was purged. */
import { isFramed } from '../policy/key.ts'
import type { StoredResponse } from './object.ts'

export type PurgeMark = { number: number; time: number }

/** All responses of one key: one, or several that differ by request headers. */
export type Slot = VariedSlot | StoredResponse
export type VariedSlot = { vary: readonly string[] | undefined; variants: Map<string, StoredResponse> }

export type Partition = {
  /** In the order in which they were stored, or were last spared by an eviction. */
  slots: Map<string, Slot>
  bytes: number
  /** The part of `bytes` that bodies in memory take. */
  bodyBytes: number
  /** The deployment that made the response that was stored last. */
  deployment: string | undefined
  /** Everything stored before this purge is gone. */
  emptied: PurgeMark & { by: 'all' | 'switch' }
  /** Purged paths, which begin with '/', and tags, which are preceded by a blank. */
  marks: Map<string, PurgeMark>
  markBytes: number
  /** Paths under which a response to a request with headers of a framework is stored. */
  framed: Set<string>
  lastPurge: number
}

/** Marks of one environment. Beyond them it is cheaper to purge everything. */
const MAX_MARKS = 50_000
/** Of the names of those marks: a request of a visitor can add one of eight thousand characters. */
const MAX_MARK_BYTES = 4 * 1024 * 1024
const MAX_FRAMED = 10_000

export const createPartition = (lastPurge: number): Partition => ({
  slots: new Map(),
  bytes: 0,
  bodyBytes: 0,
  deployment: undefined,
  emptied: NEVER,
  marks: new Map(),
  markBytes: 0,
  framed: new Set(),
  lastPurge,
})

const NEVER: Partition['emptied'] = { number: 0, time: 0, by: 'all' }

export const isVaried = (slot: Slot): slot is VariedSlot => 'variants' in slot

export function contains(partition: Partition, stored: StoredResponse): boolean {
  const slot = partition.slots.get(stored.key)
  return slot === stored || (slot !== undefined && isVaried(slot) && slot.variants.get(stored.variant) === stored)
}

export function isPurged(partition: Partition, { path, tags, purgeNumber }: StoredResponse): boolean {
  if (partition.lastPurge <= purgeNumber) return false
  if (partition.emptied.number > purgeNumber) return true
  if (partition.marks.size === 0) return false
  if ((partition.marks.get(path)?.number ?? 0) > purgeNumber) return true
  for (const tag of tags) if ((partition.marks.get(` ${tag}`)?.number ?? 0) > purgeNumber) return true
  return false
}

/** Every variant that is stored under this key. */
export function variantsAt(partition: Partition, key: string): StoredResponse[] {
  const slot = partition.slots.get(key)
  const found = slot === undefined ? [] : isVaried(slot) ? [...slot.variants.values()] : [slot]
  return found.filter((stored) => !isPurged(partition, stored))
}

/**
 * Whether something may be stored for this URL: under the key of a request without framework headers, or another one.
 */
export const mayContain = ({ slots, framed }: Partition, key: string, path: string): boolean =>
  slots.has(key) || framed.has(path) || framed.size >= MAX_FRAMED

export function noteFramed({ framed }: Partition, { key, path }: StoredResponse) {
  if (isFramed(key) && framed.size < MAX_FRAMED) framed.add(path)
}

export function addMark(partition: Partition, name: string, mark: PurgeMark) {
  if (!partition.marks.has(name)) partition.markBytes += name.length
  partition.marks.set(name, mark)
}

export const hasTooManyMarks = ({ marks, markBytes }: Partition): boolean =>
  marks.size > MAX_MARKS || markBytes > MAX_MARK_BYTES

/** The last purge that would have removed a response with this path and these tags. */
export function lastPurgeOf(partition: Partition, path: string, tags: readonly string[]) {
  const marks: { number: number; time: number; by: 'all' | 'switch' | 'path' | 'tag' }[] = []
  if (partition.emptied.number > 0) marks.push(partition.emptied)
  const ofPath = partition.marks.get(path)
  if (ofPath) marks.push({ ...ofPath, by: 'path' })
  for (const tag of tags) {
    const ofTag = partition.marks.get(` ${tag}`)
    if (ofTag) marks.push({ ...ofTag, by: 'tag' })
  }
  return marks.sort((one, other) => other.number - one.number)[0]
}
