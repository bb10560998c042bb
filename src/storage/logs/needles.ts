/**
 * Finds many strings in a text at once, in one pass over it: the automaton of Aho and Corasick over UTF-16 code units. The
 * time for a text is linear in its length, however many strings there are and whatever they have in common.
 *
 * A state is a prefix of some needle. It is identified by its parent and the code unit that leads to it, so one hash table of
 * states contains all edges, and missing edges take no memory: at most 26 bytes for each code unit of the needles. The hash
 * is salted, since a tenant chooses the needles and could make them collide otherwise.
 */
import { randomInt } from 'node:crypto'
import { createSlices } from '../../base/index.ts'

/** Ranges of a text: from, to, from, to, …; in ascending order, without overlapping or touching. */
export type Places = number[]

export type Needles = {
  /** The ranges of the text that belong to a needle. */
  find(text: string): Places
  /** The memory that it uses. */
  bytes: number
}

const ROOT = 0

export async function compileNeedles(needles: readonly string[]): Promise<Needles> {
  const slices = createSlices()
  const maxStates = needles.reduce((sum, { length }) => sum + length, 1)
  const parent = new Int32Array(maxStates)
  const unit = new Uint16Array(maxStates)
  /** The length of the longest needle that ends in this state. */
  const ends = new Int32Array(maxStates)
  /** The state of the longest proper suffix that is a prefix of some needle. */
  const fallBack = new Int32Array(maxStates)
  /** States by parent and unit. The root is no state's child, so 0 marks a free slot. */
  const table = new Int32Array(2 ** Math.ceil(Math.log2(maxStates * 1.5 + 1)))
  const mask = table.length - 1
  const [saltOfState, saltOfUnit] = [randomInt(2 ** 31) * 2 + 1, randomInt(2 ** 31) * 2 + 1]

  /** The slot of a state's child in the table, or the free slot where it would be. */
  function placeOf(state: number, code: number): number {
    let hash = Math.imul(state, saltOfState) ^ Math.imul(code, saltOfUnit)
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    let place = (hash ^ (hash >>> 12)) & mask
    for (;;) {
      const found = table[place] as number
      if (found === 0 || (parent[found] === state && unit[found] === code)) return place
      place = (place + 1) & mask
    }
  }

  const childOf = (state: number, code: number): number => table[placeOf(state, code)] as number

  let states = 1
  let deepest = 0
  const depth = new Int32Array(maxStates)
  for (const needle of needles) {
    let state = ROOT
    for (let at = 0; at < needle.length; at++) {
      const code = needle.charCodeAt(at)
      const place = placeOf(state, code)
      if (table[place] === 0) {
        parent[states] = state
        unit[states] = code
        depth[states] = at + 1
        table[place] = states++
      }
      state = table[place] as number
      if (slices.isOver()) await slices.rest()
    }
    ends[state] = needle.length
    deepest = Math.max(deepest, needle.length)
  }
  // The fall-back of a state is shallower, so states are processed by depth.
  for (const state of byDepth(depth.subarray(0, states), deepest)) {
    const [above, code] = [parent[state] as number, unit[state] as number]
    let from = fallBack[above] as number
    while (from !== ROOT && childOf(from, code) === 0) {
      from = fallBack[from] as number
      if (slices.isOver()) await slices.rest()
    }
    fallBack[state] = above === ROOT ? ROOT : childOf(from, code)
    if (ends[state] === 0) ends[state] = ends[fallBack[state] as number] as number
    if (slices.isOver()) await slices.rest()
  }

  return {
    bytes: [parent, unit, ends, fallBack, table].reduce((sum, { byteLength }) => sum + byteLength, 0),
    find(text) {
      const found: Places = []
      let state = ROOT
      for (let at = 0; at < text.length; at++) {
        const code = text.charCodeAt(at)
        let child = childOf(state, code)
        while (child === 0 && state !== ROOT) {
          state = fallBack[state] as number
          child = childOf(state, code)
        }
        state = child
        const length = ends[state] as number
        if (length > 0) addPlace(found, at + 1 - length, at + 1)
      }
      return found
    },
  }
}

/** Adds a range that ends at or after the end of the last one. */
export function addPlace(places: Places, from: number, to: number) {
  let start = from
  while (places.length > 0 && (places.at(-1) as number) >= start) {
    places.pop()
    start = Math.min(start, places.pop() as number)
  }
  places.push(start, to)
}

/** All states but the root, in order of their depth. */
function byDepth(depth: Int32Array, deepest: number): Int32Array {
  const begin = new Int32Array(deepest + 2)
  for (let state = 1; state < depth.length; state++) {
    const behind = (depth[state] as number) + 1
    begin[behind] = (begin[behind] as number) + 1
  }
  for (let at = 1; at < begin.length; at++) begin[at] = (begin[at] as number) + (begin[at - 1] as number)
  const sorted = new Int32Array(depth.length - 1)
  for (let state = 1; state < depth.length; state++) {
    const of = depth[state] as number
    const place = begin[of] as number
    sorted[place] = state
    begin[of] = place + 1
  }
  return sorted
}
