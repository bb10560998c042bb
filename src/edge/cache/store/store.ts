/**
 * The stored responses, in memory. Every environment has a partition of its own, so that purging one takes constant
 * time however much it contains, and so that the objects of one tenant never push out those of another.
 *
 * Purges are numbered. An object remembers the highest number at the time its fetch began; it is gone when everything
 * of its environment, its path or one of its tags was purged under a higher number. So a purge touches no object, and a
 * response that was in flight during a purge is never served after it.
 */

import type { HeaderList, RequestHeaders } from '../fields/header-list.ts'
import { purgePathOf } from '../fields/tags.ts'
import type { Lifetime } from '../policy/freshness.ts'
import { variantOf } from '../policy/vary.ts'
import { createMemory, type Memory } from './memory.ts'
import { packed, type StoredResponse, weightOf } from './object.ts'
import {
  addMark,
  contains,
  createPartition,
  hasTooManyMarks,
  isPurged,
  isVaried,
  lastPurgeOf,
  mayContain,
  noteFramed,
  type Partition,
  type Slot,
  variantsAt,
} from './partition.ts'
import type { Purge } from './purge.ts'

export type StoreLookup = { kind: 'found'; stored: StoredResponse } | { kind: 'vary-miss' } | { kind: 'uri-miss' }

type Parts = {
  maxBytes: number
  now(): number
  /** Whether a body is on the disk, so that it may leave memory while its headers stay. */
  isOnDisk?(stored: StoredResponse): boolean
}

type PurgeOptions = { by?: 'all' | 'switch'; number?: number; time?: number }

const MAX_VARIANTS = 64

export function createStore({ now, isOnDisk = () => false, maxBytes }: Parts) {
  const partitions = new Map<string, Partition>()
  const memory = createMemory({ maxBytes, partitions, isOnDisk })
  let lastPurge = 0

  function partitionOf(environment: string): Partition {
    let partition = partitions.get(environment)
    if (!partition) {
      // An environment that comes back has lost its marks. With this number, no request joins a fetch from before that.
      partition = createPartition(lastPurge)
      partitions.set(environment, partition)
    }
    return partition
  }

  /** The edge does not answer for the environment any more. */
  function forget(environment: string) {
    const partition = partitions.get(environment)
    if (!partition) return
    memory.empty(partition, { number: Number.POSITIVE_INFINITY, time: now(), by: 'all' })
    // Responses that are still being fetched for it are not kept.
    partition.lastPurge = Number.POSITIVE_INFINITY
    partitions.delete(environment)
  }

  return {
    partitionOf,

    /** The purge number that a fetch begins with. */
    purgeNumber: () => lastPurge,

    find(partition: Partition, key: string, requestHeaders: RequestHeaders, deployment: string): StoreLookup {
      const slot = partition.slots.get(key)
      if (!slot) return URI_MISS
      const stored = isVaried(slot)
        ? slot.variants.get(slot.vary ? variantOf(slot.vary, requestHeaders) : '')
        : slot.vary === undefined || variantOf(slot.vary, requestHeaders) === slot.variant
          ? slot
          : undefined
      if (!stored) return VARY_MISS
      if (stored.deployment === deployment && !isPurged(partition, stored)) return { kind: 'found', stored }
      memory.remove(partition, stored)
      return URI_MISS
    },

    /** The request headers that are needed to find a response under this key. */
    varyOf: ({ slots }: Partition, key: string): readonly string[] | undefined => slots.get(key)?.vary,

    mayContain,
    variantsAt,

    /** Whether it was kept: a response that was purged while it was fetched is not. */
    put(partition: Partition, stored: StoredResponse): boolean {
      // One from before a restart may know of purges whose notes are gone: the next purge must have a higher number.
      lastPurge = Math.max(lastPurge, stored.purgeNumber)
      if (isPurged(partition, stored) || !memory.makeSpace(weightOf(stored))) return false
      const before = partition.slots.get(stored.key)
      if (!before || (stored.vary === undefined && !isVaried(before))) {
        if (before) memory.remove(partition, before)
        partition.slots.set(stored.key, stored)
      } else {
        putVariant(memory, partition, before, stored)
      }
      memory.count(partition, stored, 1)
      partition.deployment = stored.deployment
      noteFramed(partition, stored)
      return true
    },

    remove: memory.remove,

    /** Changes a stored response, and adjusts the memory that it counts for. */
    change(partition: Partition, stored: StoredResponse, change: () => void) {
      const isThere = contains(partition, stored)
      if (isThere) memory.count(partition, stored, -1)
      change()
      if (!isThere) return
      memory.count(partition, stored, 1)
      memory.shrink()
    },

    /** The app has confirmed that the stored response is still valid, with these headers. */
    renew(partition: Partition, stored: StoredResponse, headers: HeaderList, lifetime: Lifetime) {
      this.change(partition, stored, () => Object.assign(stored, packed(headers, lifetime), { validateTime: now() }))
    },

    isPurged,

    /** `number` is given for a purge from before a restart. */
    purge(
      { environment, paths, tags }: Purge,
      { by = 'all', number = lastPurge + 1, time = now() }: PurgeOptions = {},
    ): number {
      lastPurge = Math.max(lastPurge, number)
      const partition = partitionOf(environment)
      partition.lastPurge = lastPurge
      const mark = { number, time }
      for (const path of paths ?? []) addMark(partition, purgePathOf(path), mark)
      for (const tag of tags ?? []) addMark(partition, ` ${tag}`, mark)
      const isForEverything = paths === undefined && tags === undefined
      if (isForEverything || hasTooManyMarks(partition)) memory.empty(partition, { ...mark, by })
      return number
    },

    /** Whether this holds for all that is stored for an environment. */
    isEvery(environment: string, holds: (stored: StoredResponse) => boolean): boolean {
      for (const slot of partitionOf(environment).slots.values())
        if (![...(isVaried(slot) ? slot.variants.values() : [slot])].every(holds)) return false
      return true
    },

    environments: (): string[] => [...partitions.keys()],
    forget,
    /** Removes the environments that do not exist any more. */
    keepOnly(environments: ReadonlySet<string>) {
      for (const environment of [...partitions.keys()]) if (!environments.has(environment)) forget(environment)
    },

    lastPurgeOf,

    resize: memory.resize,
    bytes: memory.bytes,
    count: () => partitions.values().reduce((sum, { slots }) => sum + slots.size, 0),
  }
}

export type Store = ReturnType<typeof createStore>

const URI_MISS: StoreLookup = { kind: 'uri-miss' }
const VARY_MISS: StoreLookup = { kind: 'vary-miss' }

function putVariant(memory: Memory, partition: Partition, before: Slot, stored: StoredResponse) {
  let slot = before
  if (!isVaried(slot)) {
    slot = { vary: slot.vary, variants: new Map([[slot.variant, slot]]) }
    partition.slots.set(stored.key, slot)
  }
  // The Vary of the newest response applies to all: variants that were chosen by other headers cannot be found by it.
  if (!isSameList(slot.vary, stored.vary)) {
    for (const old of [...slot.variants.values()]) if (!isSameList(old.vary, stored.vary)) memory.remove(partition, old)
    slot.vary = stored.vary
    partition.slots.set(stored.key, slot)
  }
  const same = slot.variants.get(stored.variant)
  if (same) memory.count(partition, same, -1)
  slot.variants.set(stored.variant, stored)
  for (const old of slot.variants.values()) {
    if (slot.variants.size <= MAX_VARIANTS) break
    memory.remove(partition, old)
  }
}

function isSameList(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.length === other.length && one.every((name, at) => name === other[at])
}
