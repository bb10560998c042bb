/**
 * A bounded cache in memory that many owners share. When it is full, an owner that uses most loses one of its own
 * values: an owner that uses little keeps its values, however much the others add.
 *
 * Owners are ranked by the power of two of their bytes. One of the highest rank loses a value: it uses at least half of
 * what the largest does, and is found without a search.
 */

type CachedValue<Value> = {
  value: Value
  bytes: number
  /** Read since the last eviction. */
  isUsed: boolean
}
type Share<Value> = {
  owner: string
  bytes: number
  entries: Map<string, CachedValue<Value>>
  /**
   * Goes over the entries, again and again, and stands where the last eviction has ended. A map keeps the places of what was
   * removed for a while: to look for its first entry each time would be most of the work of an eviction.
   */
  hand: MapIterator<[string, CachedValue<Value>]>
}

/** An eviction spares so many values that were used, and then removes the next one: its work is bounded. */
const MAX_CHANCES = 16
/** Memory of an entry beside its value and name: its place in maps. */
const OVERHEAD_BYTES = 256

export function createShares<Value>(maxBytes: number) {
  const shares = new Map<string, Share<Value>>()
  const ranks: Set<Share<Value>>[] = []
  let bytes = 0

  function grow(share: Share<Value>, by: number) {
    const before = rankOf(share)
    share.bytes += by
    bytes += by
    const rank = rankOf(share)
    if (rank === before) return
    ranks[before]?.delete(share)
    if (share.entries.size === 0) return
    ranks[rank] ??= new Set()
    ranks[rank].add(share)
  }

  function remove(share: Share<Value>, name: string, entry: CachedValue<Value>) {
    share.entries.delete(name)
    grow(share, -entry.bytes)
    if (share.entries.size === 0) shares.delete(share.owner)
  }

  function largest(): Share<Value> | undefined {
    for (let rank = ranks.length - 1; rank >= 0; rank--) for (const share of ranks[rank] ?? []) return share
    return undefined
  }

  function evictOne(share: Share<Value>) {
    for (let chances = MAX_CHANCES; ; ) {
      const { value, done } = share.hand.next()
      if (done) share.hand = share.entries.entries()
      else if (!value[1].isUsed || chances-- === 0) return remove(share, value[0], value[1])
      else value[1].isUsed = false
    }
  }

  return {
    get(owner: string, name: string): Value | undefined {
      const entry = shares.get(owner)?.entries.get(name)
      if (!entry) return undefined
      entry.isUsed = true
      return entry.value
    },

    set(owner: string, name: string, value: Value, valueBytes: number) {
      let share = shares.get(owner)
      if (!share) {
        const entries: Share<Value>['entries'] = new Map()
        share = { owner, bytes: 0, entries, hand: entries.entries() }
        shares.set(owner, share)
      }
      const before = share.entries.get(name)
      const entry = { value, bytes: valueBytes + name.length * 2 + OVERHEAD_BYTES, isUsed: false }
      share.entries.set(name, entry)
      grow(share, entry.bytes - (before?.bytes ?? 0))
      for (let share = largest(); share && bytes > maxBytes; share = largest()) evictOne(share)
    },

    /** Removes the values of an owner. */
    forget(owner: string) {
      const share = shares.get(owner)
      if (!share) return
      shares.delete(owner)
      share.entries.clear()
      grow(share, -share.bytes)
    },

    bytesOf: (owner: string): number => shares.get(owner)?.bytes ?? 0,
    bytes: (): number => bytes,
  }
}

const rankOf = ({ bytes }: { bytes: number }): number => 32 - Math.clz32(bytes)
