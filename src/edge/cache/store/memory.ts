/**
 * How much memory the stored responses take, and what is evicted when it is full: the largest partition gives up what
 * was not used recently, so the objects of one tenant never push out those of another.
 */
import { bodyBytesOf, type StoredResponse, weightOf } from './object.ts'
import { isVaried, type Partition } from './partition.ts'

type Parts = {
  maxBytes: number
  partitions: ReadonlyMap<string, Partition>
  /** Whether a body is on the disk, so that it may leave memory while its headers stay. */
  isOnDisk(stored: StoredResponse): boolean
}

/**
 * An eviction spares so many objects, because they were used or have no body in memory; then it removes the next one.
 */
const MAX_SPARED = 2000
/** An eviction frees this share of the memory, so that not every new object needs one. */
const FREED_SHARE = 0.02

export function createMemory({ maxBytes: initialMax, partitions, isOnDisk }: Parts) {
  let maxBytes = initialMax
  let bytes = 0

  /** Adds what it takes, or subtracts it. */
  function count(partition: Partition, stored: StoredResponse, times: 1 | -1) {
    const weight = times * weightOf(stored)
    partition.bytes += weight
    bytes += weight
    partition.bodyBytes += times * bodyBytesOf(stored)
  }

  function remove(partition: Partition, stored: StoredResponse) {
    const slot = partition.slots.get(stored.key)
    if (slot === stored) partition.slots.delete(stored.key)
    else if (slot && isVaried(slot) && slot.variants.get(stored.variant) === stored) {
      slot.variants.delete(stored.variant)
      if (slot.variants.size === 0) partition.slots.delete(stored.key)
    } else return
    count(partition, stored, -1)
  }

  function evict(wanted = 0) {
    const target = maxBytes * (1 - FREED_SHARE) - wanted
    while (bytes > target) {
      let fullest: Partition | undefined
      for (const partition of partitions.values()) if (!fullest || partition.bytes > fullest.bytes) fullest = partition
      if (!fullest || fullest.slots.size === 0) return
      thin(fullest, fullest.bytes - Math.max(bytes - target, 1))
    }
  }

  /**
   * The oldest first; an object that was used since the last eviction is spared once. A body that is on the disk leaves
   * memory while the rest of the object, which is small, stays; but such objects never take more than half, or there
   * would be no space for bodies. The number of objects looked at is bounded, because a million of them may all have
   * been used.
   */
  function thin(partition: Partition, toBytes: number) {
    let looked = 0
    for (const [key, slot] of partition.slots) {
      if (partition.bytes <= toBytes) return
      let isKept = false
      for (const stored of isVaried(slot) ? [...slot.variants.values()] : [slot]) {
        if (++looked > MAX_SPARED) remove(partition, stored)
        else if (stored.isUsed) {
          stored.isUsed = false
          isKept = true
        } else if (stored.body && isOnDisk(stored)) {
          dropBody(partition, stored)
          isKept = true
        } else if (!stored.body && partition.bodyBytes > partition.bytes / 2) isKept = true
        else remove(partition, stored)
      }
      if (!isKept || !partition.slots.delete(key)) continue
      // Now at the end: the loop reaches it again only if removing all the others was not enough.
      partition.slots.set(key, slot)
    }
  }

  function dropBody(partition: Partition, stored: StoredResponse) {
    count(partition, stored, -1)
    stored.body = undefined
    // `null` stays: this encoding must never be made.
    stored.br &&= undefined
    stored.gzip &&= undefined
    count(partition, stored, 1)
  }

  return {
    count,
    remove,

    /**
     * Frees memory for an object before it is stored: it is neither used nor on the disk yet, and would go first.
     * False: too large.
     */
    makeSpace(weight: number): boolean {
      if (weight > maxBytes / 4) return false
      if (bytes + weight > maxBytes) evict(weight)
      return true
    },

    shrink() {
      if (bytes > maxBytes) evict()
    },

    empty(partition: Partition, by: Partition['emptied']) {
      partition.emptied = by
      partition.marks = new Map()
      partition.markBytes = 0
      partition.framed = new Set()
      partition.slots = new Map()
      bytes -= partition.bytes
      partition.bytes = 0
      partition.bodyBytes = 0
    },

    resize(max: number) {
      maxBytes = max
      if (bytes > maxBytes) evict()
    },
    bytes: () => bytes,
  }
}

export type Memory = ReturnType<typeof createMemory>
