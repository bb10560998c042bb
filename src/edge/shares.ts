/**
 * What is kept in memory for many owners within one bound. When it is full, an owner that holds most gives up something
 * of its own: whoever holds little keeps it, however much the others ask for.
 *
 * Owners stand in ranks by the power of two that their bytes reach. One of the highest rank gives: it holds at least half
 * of what the largest does, and finding it takes no search.
 */

type Entry<Value> = {
  value: Value
  bytes: number
  /** Asked for since the last time that something had to go. */
  isUsed: boolean
}
type Share<Value> = { owner: string; bytes: number; entries: Map<string, Entry<Value>> }

/** So many get a second chance before one goes in any case: what is looked at is bounded. */
const MAX_CHANCES = 16
/** What an entry takes beside its value: its name and its place in maps. */
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

  function remove(share: Share<Value>, name: string, entry: Entry<Value>) {
    share.entries.delete(name)
    grow(share, -entry.bytes)
    if (share.entries.size === 0) shares.delete(share.owner)
  }

  function largest(): Share<Value> | undefined {
    for (let rank = ranks.length - 1; rank >= 0; rank--) for (const share of ranks[rank] ?? []) return share
    return undefined
  }

  function giveUpOne(share: Share<Value>) {
    let chances = MAX_CHANCES
    for (const [name, entry] of share.entries) {
      if (!entry.isUsed || chances-- === 0) return remove(share, name, entry)
      entry.isUsed = false
      share.entries.delete(name)
      share.entries.set(name, entry)
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
      const share = shares.get(owner) ?? { owner, bytes: 0, entries: new Map() }
      shares.set(owner, share)
      const before = share.entries.get(name)
      const entry = { value, bytes: valueBytes + name.length * 2 + OVERHEAD_BYTES, isUsed: false }
      share.entries.set(name, entry)
      grow(share, entry.bytes - (before?.bytes ?? 0))
      for (let share = largest(); share && bytes > maxBytes; share = largest()) giveUpOne(share)
    },

    /** Of owners that are no more. */
    keepOnly(owners: ReadonlySet<string>) {
      for (const [owner, share] of shares) {
        if (owners.has(owner)) continue
        shares.delete(owner)
        share.entries.clear()
        grow(share, -share.bytes)
      }
    },

    bytesOf: (owner: string): number => shares.get(owner)?.bytes ?? 0,
    bytes: (): number => bytes,
  }
}

const rankOf = ({ bytes }: { bytes: number }): number => 32 - Math.clz32(bytes)
