/**
 * Fetches under way. Everybody who wants what is being fetched waits for that fetch, or reads along; only when the
 * response turns out to be for one alone do the others ask for themselves.
 *
 *   asking      nobody knows yet what comes; readers wait
 *   collecting  it will be stored: its body is held, readers get it as it comes, and more may join
 *   passing     it is not stored, or is too large to be held: readers get it at the pace of the slowest, and none joins
 *   over        nothing leads out
 */

import type { Asking, Failure, Listener } from '../proxy/upstream/instances.ts'
import type { Head } from '../proxy/upstream/response-reader.ts'
import type { RequestHeaders } from './fields/header-list.ts'
import type { StoredResponse } from './store/object.ts'

export type Outgoing = { status: number; reason: string; headers: string[] }

/** What became of a fetch, for Cache-Status. */
export type Way = { isStored: boolean; isCollapsed: boolean; status?: number; detail?: string }

/** Somebody who waits for a response. */
export type Reader = {
  readonly headers: RequestHeaders
  interim(head: Head): void
  /** It is stored, and here is all of it; with `first` as it came, where it has just come. */
  whole(stored: StoredResponse, way: Way, first?: Outgoing): void
  /** The first of it; more follows. */
  begin(outgoing: Outgoing, way: Way): void
  /** Whether more is welcome now; if not, `onDrain` is called when it is. */
  write(chunk: Buffer): boolean
  onDrain: () => void
  end(): void
  /** Before the beginning: no response. After it: not the whole of it. */
  fail(why: Failure): void
  /** The response is for somebody else. */
  askAlone(): void
}

/** What the head of a response means for a fetch. */
export type Verdict =
  /** Something that is stored answers everybody, or nobody but the one who asked. */
  | { kind: 'use'; stored: StoredResponse; way: Omit<Way, 'isCollapsed'>; isForOne?: boolean }
  /** Ask once more, without conditions. */
  | { kind: 'again' }
  /** Who asked gets it as it came; the others without what was said to him alone. */
  | { kind: 'store'; outgoing: Outgoing; forOthers: Outgoing; isFor(headers: RequestHeaders): boolean }
  | { kind: 'pass'; outgoing: Outgoing; detail: string; isEventStream: boolean }

export type Rules = {
  /** Asks the instance; called again where the verdict says so. */
  ask(isUnconditional: boolean, listener: Listener): Asking
  judge(head: Head): Verdict
  /** What is answered where there is no response: something stale, or nothing. */
  instead(why: Failure): { stored: StoredResponse; way: Omit<Way, 'isCollapsed'> } | undefined
  /** The whole body has come: it becomes an object, which is stored unless it was purged meanwhile. */
  keep(body: Buffer): { stored: StoredResponse; isStored: boolean }
  /** Whether so much more of the body may be held in memory. What was allowed is given back by `letGo`. */
  mayHold(bytes: number): boolean
  letGo(bytes: number): void
  /** A body that is too large for memory; undefined when there is no place for it. */
  openLarge(length: number | undefined): LargeBody | undefined
  /** Nobody can join it any more. */
  over(): void
  /** Nothing is under way any more. */
  ended(): void
}

/** Where a body goes that is too large for memory. */
export type LargeBody = {
  /** Whether more is welcome now; if not, `onDrain` is called when it is. */
  write(chunk: Buffer): boolean
  onDrain: () => void
  finish(): void
  abort(): void
}

type Bounds = {
  /** A body up to this length is waited for and sent in one piece, where its length is known. */
  pieceBytes: number
  /** A body up to this length is held in memory. */
  heldBytes: number
  /** How long a body may take that nobody waits for. */
  unwatchedMs: number
}

export type Fetch = {
  /** Whether this reader is served by it. */
  join(reader: Reader): boolean
  leave(reader: Reader): void
  /** When it began: purges with a higher number are not seen by it. */
  readonly purgeNumber: number
}

export function startFetch(rules: Rules, bounds: Bounds, purgeNumber: number, leader?: Reader): Fetch {
  const readers = new Set<Reader>(leader ? [leader] : [])
  let stage: 'asking' | 'collecting' | 'passing' | 'over' = 'asking'
  let outgoing: Outgoing | undefined
  let forOthers: Outgoing | undefined
  let isFor: (headers: RequestHeaders) => boolean = () => true
  let isInPieces = false
  let held: Buffer[] = []
  let heldBytes = 0
  /** Of those, what counts for all that the environment's fetches hold. */
  let countedBytes = 0
  let large: LargeBody | undefined
  /** Those who take nothing more for now. While there are any, the app is not listened to. */
  const full = new Set<Reader | LargeBody>()
  let hasAskedAgain = false
  let watch: NodeJS.Timeout | undefined
  let asking: Asking = ask(false)

  function ask(isUnconditional: boolean): Asking {
    return rules.ask(isUnconditional, { interim, head, data, end, fail })
  }

  function interim(received: Head) {
    if (stage === 'asking') for (const reader of readers) reader.interim(received)
  }

  function head(received: Head, length: number | undefined) {
    const verdict = rules.judge(received)
    switch (verdict.kind) {
      case 'again':
        asking.abort()
        // It does not say otherwise without conditions either.
        if (hasAskedAgain) return fail('broken')
        hasAskedAgain = true
        asking = ask(true)
        return
      case 'use':
        // A 304 is over with its head, and its connection can be used again.
        if (received.status !== 304) asking.abort()
        if (verdict.isForOne) sendAway((reader) => reader !== leader)
        return settle((reader) => reader.whole(verdict.stored, { ...verdict.way, isCollapsed: reader !== leader }))
      case 'store':
        outgoing = verdict.outgoing
        forOthers = verdict.forOthers
        isFor = verdict.isFor
        return collect(length)
      case 'pass':
        outgoing = verdict.outgoing
        if (verdict.isEventStream) asking.becomeStream()
        return pass(verdict.detail)
    }
  }

  function collect(length: number | undefined) {
    sendAway((reader) => !isFor(reader.headers))
    if (length !== undefined && length > bounds.heldBytes) return spill(length)
    stage = 'collecting'
    isInPieces = length === undefined || length > bounds.pieceBytes
    if (isInPieces) for (const reader of readers) begin(reader)
    if (readers.size === 0) watchAlone()
  }

  function pass(detail: string) {
    stage = 'passing'
    rules.over()
    sendAway((reader) => reader !== leader)
    for (const reader of readers) {
      reader.onDrain = () => flow(reader)
      reader.begin(outgoing as Outgoing, { isStored: false, isCollapsed: false, detail })
    }
    if (readers.size === 0) stop()
  }

  /** Too large to be held: from here on at the pace of those who read. */
  function spill(length: number | undefined) {
    const isBegun = stage === 'collecting'
    stage = 'passing'
    rules.over()
    const opened = rules.openLarge(length)
    if (opened) {
      large = opened
      opened.onDrain = () => flow(opened)
      for (const chunk of held) opened.write(chunk)
    }
    letGo()
    for (const reader of readers) {
      if (!isBegun) begin(reader)
      reader.onDrain = () => flow(reader)
    }
    if (readers.size > 0) return
    if (opened) watchAlone()
    else stop()
  }

  function letGo() {
    held = []
    rules.letGo(countedBytes)
    countedBytes = 0
  }

  function begin(reader: Reader) {
    const way = { isStored: stage === 'collecting', isCollapsed: reader !== leader }
    const { status, reason, headers } = (reader === leader ? outgoing : forOthers) as Outgoing
    reader.begin({ status, reason, headers: [...headers] }, way)
  }

  function data(chunk: Buffer) {
    if (stage === 'over') return
    if (stage === 'collecting') {
      heldBytes += chunk.length
      // A copy: what the socket read is a part of something larger, which would be held with it.
      held.push(Buffer.from(chunk))
      // What is short and sent in one piece is not counted: there is nothing else that could be done with it.
      if (!isInPieces) return
      for (const reader of readers) reader.write(chunk)
      if (heldBytes > bounds.heldBytes || !rules.mayHold(chunk.length)) spill(undefined)
      else countedBytes += chunk.length
      return
    }
    const wasFull = full.size > 0
    if (large && !large.write(chunk)) full.add(large)
    for (const reader of readers) if (!reader.write(chunk)) full.add(reader)
    if (full.size > 0 && !wasFull) asking.pause()
  }

  function flow(drained: Reader | LargeBody) {
    if (full.delete(drained) && full.size === 0) asking.resume()
  }

  function end() {
    if (stage === 'over') return
    if (stage === 'collecting') {
      const { stored, isStored } = rules.keep(held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held))
      return settle((reader) => {
        if (isInPieces) reader.end()
        else if (reader === leader) reader.whole(stored, { isStored, isCollapsed: false }, outgoing)
        else reader.whole(stored, { isStored, isCollapsed: true })
      })
    }
    large?.finish()
    settle((reader) => reader.end())
  }

  function fail(why: Failure) {
    if (stage === 'over') return
    const instead = stage === 'asking' ? rules.instead(why) : undefined
    large?.abort()
    settle((reader) => {
      if (instead) reader.whole(instead.stored, { ...instead.way, isCollapsed: reader !== leader })
      else reader.fail(why)
    })
  }

  function settle(notify: (reader: Reader) => void) {
    stage = 'over'
    clearTimeout(watch)
    letGo()
    rules.over()
    rules.ended()
    const all = [...readers]
    readers.clear()
    for (const reader of all) notify(reader)
  }

  function sendAway(isWrong: (reader: Reader) => boolean) {
    for (const reader of [...readers]) {
      if (!isWrong(reader)) continue
      readers.delete(reader)
      reader.askAlone()
    }
  }

  function stop() {
    asking.abort()
    large?.abort()
    settle(() => undefined)
  }

  function watchAlone() {
    watch ??= setTimeout(stop, bounds.unwatchedMs)
  }

  return {
    purgeNumber,
    join(reader) {
      if (stage === 'asking') {
        readers.add(reader)
        return true
      }
      if (stage !== 'collecting' || !isFor(reader.headers)) return false
      readers.add(reader)
      clearTimeout(watch)
      watch = undefined
      if (!isInPieces) return true
      begin(reader)
      for (const chunk of held) reader.write(chunk)
      return true
    },
    leave(reader) {
      if (!readers.delete(reader) || stage === 'over') return
      flow(reader)
      if (readers.size > 0) return
      // What will be stored is finished all the same, within bounds: somebody wanted it, and somebody will again.
      if (stage === 'collecting' || large) watchAlone()
      else stop()
    },
  }
}
