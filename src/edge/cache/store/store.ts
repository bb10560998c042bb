/**
 * What is stored, in memory first. Every environment has a shelf of its own, so that purging one takes a moment however
 * much is on it, and so that one tenant's objects never push out another's: when the memory is full, the fullest shelf
 * gives up what was not used of late.
 *
 * A purge is a number that rises. An object remembers the number that was current when its fetch began; it is gone when
 * everything of its environment, its path or one of its tags was purged under a higher one. So a purge touches no object,
 * and a response that was on its way during a purge is never served after it.
 */

import type { HeaderList, RequestHeaders } from '../fields/header-list.ts'
import { purgePathOf } from '../fields/tags.ts'
import type { Lifetime } from '../policy/freshness.ts'
import { isFramed } from '../policy/key.ts'
import { variantOf } from '../policy/vary.ts'
import { bodyBytesOf, packed, type StoredResponse, weightOf } from './object.ts'
import type { Purge } from './purge.ts'

export type PurgeMark = { number: number; time: number }

/** All responses of one key: one, or several that differ by request headers. */
type Slot = { vary: readonly string[] | undefined; variants: Map<string, StoredResponse> } | StoredResponse

export type Partition = {
  /** In the order in which they came, or were last given another chance. */
  slots: Map<string, Slot>
  bytes: number
  /** Of those, what the bodies take that are in memory. */
  bodyBytes: number
  /** Which deployment has made what came last. */
  deployment: string | undefined
  /** Everything from before is gone. */
  emptied: PurgeMark & { by: 'all' | 'switch' }
  /** Purged paths, which begin with '/', and tags, which have a blank before them. */
  marks: Map<string, PurgeMark>
  markBytes: number
  /** Paths at which something was stored that was asked for with headers of a framework. */
  framed: Set<string>
  lastPurge: number
}

export type Found = { kind: 'found'; stored: StoredResponse } | { kind: 'vary-miss' } | { kind: 'uri-miss' }

type Parts = {
  maxBytes: number
  now(): number
  /** The body leaves memory. Whether it is on the disk, so that the rest may stay. */
  isOnDisk?(stored: StoredResponse): boolean
}

const MAX_VARIANTS = 64
/** Marks of one environment. Beyond them it is cheaper to forget everything at once. */
const MAX_MARKS = 50_000
/** Of the names of those marks. A visitor's request can make one of eight thousand letters. */
const MAX_MARK_BYTES = 4 * 1024 * 1024
const MAX_FRAMED = 10_000
/** So many are spared when something must go, used of late or not in memory; then the next one goes, whatever it is. */
const MAX_SPARED = 2000
/** Once something must go, this much goes, so that it is not looked for with every object. */
const ROOM_MADE = 0.02

export function createStore({ now, isOnDisk = () => false, ...sizes }: Parts) {
  let { maxBytes } = sizes
  const partitions = new Map<string, Partition>()
  let bytes = 0
  let lastPurge = 0

  function partitionOf(environment: string): Partition {
    let partition = partitions.get(environment)
    if (!partition) {
      // One that comes back has forgotten its purges: nobody joins a fetch from before it was there.
      partition = {
        slots: new Map(),
        bytes: 0,
        bodyBytes: 0,
        deployment: undefined,
        emptied: NEVER,
        marks: new Map(),
        markBytes: 0,
        framed: new Set(),
        lastPurge,
      }
      partitions.set(environment, partition)
    }
    return partition
  }

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
    const target = maxBytes * (1 - ROOM_MADE) - wanted
    while (bytes > target) {
      let fullest: Partition | undefined
      for (const partition of partitions.values()) if (!fullest || partition.bytes > fullest.bytes) fullest = partition
      if (!fullest || fullest.slots.size === 0) return
      thin(fullest, fullest.bytes - Math.max(bytes - target, 1))
    }
  }

  /**
   * The oldest first; one that was used since gets another chance. Bodies that are on the disk go, and what finds them
   * there stays, for it is small; but it never takes more than half, or there would be no room for bodies. What is looked at
   * is bounded, for a shelf may hold a million objects that were all used.
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
          count(partition, stored, -1)
          stored.body = undefined
          // `null` stays: there must never be such a form.
          stored.br &&= undefined
          stored.gzip &&= undefined
          count(partition, stored, 1)
          isKept = true
        } else if (!stored.body && partition.bodyBytes > partition.bytes / 2) isKept = true
        else remove(partition, stored)
      }
      if (!isKept || !partition.slots.delete(key)) continue
      // At the end now: the walk comes to it again only if all the others were not enough.
      partition.slots.set(key, slot)
    }
  }

  return {
    partitionOf,

    /** The number that a fetch begins with. */
    purgeNumber: () => lastPurge,

    find(partition: Partition, key: string, requestHeaders: RequestHeaders, deployment: string): Found {
      const slot = partition.slots.get(key)
      if (!slot) return URI_MISS
      const stored = isVaried(slot)
        ? slot.variants.get(slot.vary ? variantOf(slot.vary, requestHeaders) : '')
        : slot.vary === undefined || variantOf(slot.vary, requestHeaders) === slot.variant
          ? slot
          : undefined
      if (!stored) return VARY_MISS
      if (stored.deployment === deployment && !isPurged(partition, stored)) return { kind: 'found', stored }
      remove(partition, stored)
      return URI_MISS
    },

    /** The request headers that it takes to find what is stored under this key. */
    varyOf: ({ slots }: Partition, key: string): readonly string[] | undefined => slots.get(key)?.vary,

    /** Whether something may be stored at this address: at the key, which is that without headers, or at another one. */
    mayHold: ({ slots, framed }: Partition, key: string, path: string): boolean =>
      slots.has(key) || framed.has(path) || framed.size >= MAX_FRAMED,

    /** Every variant, for whoever wants to look at them. */
    all(partition: Partition, key: string): StoredResponse[] {
      const slot = partition.slots.get(key)
      const found = slot === undefined ? [] : isVaried(slot) ? [...slot.variants.values()] : [slot]
      return found.filter((stored) => !isPurged(partition, stored))
    },

    /** Whether it was kept: what was purged while it was on its way is not. */
    put(partition: Partition, stored: StoredResponse): boolean {
      // One from before a restart may know of purges whose notes are gone: the next purge must have a higher number.
      lastPurge = Math.max(lastPurge, stored.purgeNumber)
      if (isPurged(partition, stored)) return false
      const weight = weightOf(stored)
      if (weight > maxBytes / 4) return false
      // Before it is there: it is not used yet, nor on the disk, and would be the first to go.
      if (bytes + weight > maxBytes) evict(weight)
      const before = partition.slots.get(stored.key)
      if (!before || (stored.vary === undefined && !isVaried(before))) {
        if (before) remove(partition, before)
        partition.slots.set(stored.key, stored)
      } else {
        putVariant(partition, before, stored)
      }
      count(partition, stored, 1)
      partition.deployment = stored.deployment
      if (isFramed(stored.key) && partition.framed.size < MAX_FRAMED) partition.framed.add(stored.path)
      return true
    },

    remove,

    /** Changes what is stored, and what it counts. */
    change(partition: Partition, stored: StoredResponse, change: () => void) {
      const isThere = holds(partition, stored)
      if (isThere) count(partition, stored, -1)
      change()
      if (!isThere) return
      count(partition, stored, 1)
      if (bytes > maxBytes) evict()
    },

    /** The app says that it is still right, and what there is to say about it now. */
    renew(partition: Partition, stored: StoredResponse, headers: HeaderList, lifetime: Lifetime) {
      this.change(partition, stored, () => Object.assign(stored, packed(headers, lifetime), { validateTime: now() }))
    },

    isPurged,

    /** `number` is given where the purge is one of before a restart. */
    purge(
      { environment, paths, tags }: Purge,
      {
        by = 'all',
        number = lastPurge + 1,
        time = now(),
      }: { by?: 'all' | 'switch'; number?: number; time?: number } = {},
    ): number {
      lastPurge = Math.max(lastPurge, number)
      const partition = partitionOf(environment)
      partition.lastPurge = lastPurge
      const marked = { number, time }
      for (const path of paths ?? []) mark(partition, purgePathOf(path), marked)
      for (const tag of tags ?? []) mark(partition, ` ${tag}`, marked)
      const isTooMuch = partition.marks.size > MAX_MARKS || partition.markBytes > MAX_MARK_BYTES
      if ((paths === undefined && tags === undefined) || isTooMuch) empty(partition, { ...marked, by })
      return number
    },

    /** Of environments that are no more. */
    keepOnly(environments: ReadonlySet<string>) {
      for (const [environment, partition] of partitions) {
        if (environments.has(environment)) continue
        empty(partition, { number: Number.POSITIVE_INFINITY, time: now(), by: 'all' })
        // What is still on its way to it is not kept.
        partition.lastPurge = Number.POSITIVE_INFINITY
        partitions.delete(environment)
      }
    },

    lastPurgeOf(partition: Partition, path: string, tags: readonly string[]) {
      const marks: { number: number; time: number; by: 'all' | 'switch' | 'path' | 'tag' }[] = []
      if (partition.emptied.number > 0) marks.push(partition.emptied)
      const ofPath = partition.marks.get(path)
      if (ofPath) marks.push({ ...ofPath, by: 'path' })
      for (const tag of tags) {
        const ofTag = partition.marks.get(` ${tag}`)
        if (ofTag) marks.push({ ...ofTag, by: 'tag' })
      }
      return marks.sort((one, other) => other.number - one.number)[0]
    },

    resize(max: number) {
      maxBytes = max
      if (bytes > maxBytes) evict()
    },
    bytes: () => bytes,
    count: () => partitions.values().reduce((sum, { slots }) => sum + slots.size, 0),
  }

  function mark(partition: Partition, name: string, marked: PurgeMark) {
    if (!partition.marks.has(name)) partition.markBytes += name.length
    partition.marks.set(name, marked)
  }

  function empty(partition: Partition, by: Partition['emptied']) {
    partition.emptied = by
    partition.marks = new Map()
    partition.markBytes = 0
    partition.framed = new Set()
    partition.slots = new Map()
    bytes -= partition.bytes
    partition.bytes = 0
    partition.bodyBytes = 0
  }

  function putVariant(partition: Partition, before: Slot, stored: StoredResponse) {
    let slot = before
    if (!isVaried(slot)) {
      slot = { vary: slot.vary, variants: new Map([[slot.variant, slot]]) }
      partition.slots.set(stored.key, slot)
    }
    // What the newest response names counts for all: those that were chosen by other headers are not found by it.
    if (!isSameList(slot.vary, stored.vary)) {
      for (const old of [...slot.variants.values()]) if (!isSameList(old.vary, stored.vary)) remove(partition, old)
      slot.vary = stored.vary
      partition.slots.set(stored.key, slot)
    }
    const same = slot.variants.get(stored.variant)
    if (same) count(partition, same, -1)
    slot.variants.set(stored.variant, stored)
    for (const old of slot.variants.values()) {
      if (slot.variants.size <= MAX_VARIANTS) break
      remove(partition, old)
    }
  }
}

export type Store = ReturnType<typeof createStore>

const NEVER: Partition['emptied'] = { number: 0, time: 0, by: 'all' }
const URI_MISS: Found = { kind: 'uri-miss' }
const VARY_MISS: Found = { kind: 'vary-miss' }

function holds(partition: Partition, stored: StoredResponse): boolean {
  const slot = partition.slots.get(stored.key)
  return slot === stored || (slot !== undefined && isVaried(slot) && slot.variants.get(stored.variant) === stored)
}

const isVaried = (slot: Slot): slot is Exclude<Slot, StoredResponse> => 'variants' in slot

function isSameList(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.length === other.length && one.every((name, at) => name === other[at])
}

function isPurged(partition: Partition, { path, tags, purgeNumber }: StoredResponse): boolean {
  if (partition.lastPurge <= purgeNumber) return false
  if (partition.emptied.number > purgeNumber) return true
  if (partition.marks.size === 0) return false
  if ((partition.marks.get(path)?.number ?? 0) > purgeNumber) return true
  for (const tag of tags) if ((partition.marks.get(` ${tag}`)?.number ?? 0) > purgeNumber) return true
  return false
}
