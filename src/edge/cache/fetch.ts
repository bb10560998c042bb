/**
 * One fetch from the app, which several requests may wait for. Requests for the same response wait for the fetch, or
 * read along while its body arrives; only when the response turns out to be for one client do the others fetch on their
 * own.
 *
 *   asking      the head of the response has not arrived; readers wait
 *   collecting  the response will be stored: its body is buffered, readers get it as it arrives, and more may join
 *   passing     it is not stored, or too large to buffer: it is read at the speed of the slowest reader, and none joins
 *   over        final
 */

import type { Failure, Listener, UpstreamHandle } from '../proxy/upstream/instances.ts'
import type { Head } from '../proxy/upstream/response-reader.ts'
import type { RequestHeaders } from './fields/header-list.ts'
import type { StoredResponse } from './store/object.ts'

export type OutgoingHead = { status: number; reason: string; headers: string[] }

/** The result of a fetch, for Cache-Status. */
export type FetchOutcome = { isStored: boolean; isCollapsed: boolean; status?: number; detail?: string }

/** A request that waits for a response. */
export type Reader = {
  readonly headers: RequestHeaders
  interim(head: Head): void
  /** The complete response, now stored; `first` is its head as the app sent it, where it has just arrived. */
  whole(stored: StoredResponse, outcome: FetchOutcome, first?: OutgoingHead): void
  /** The head; the body follows. */
  begin(outgoing: OutgoingHead, outcome: FetchOutcome): void
  /** Whether it accepts more now; if not, `onDrain` is called when it does. */
  write(chunk: Buffer): boolean
  /** Nothing more has arrived for now. A head goes together with the first bytes of its body where they are there already. */
  flush(): void
  onDrain: () => void
  end(): void
  /** Before `begin`: there is no response. After it: the response is incomplete. */
  fail(why: Failure): void
  /** The response is for another client. */
  askAlone(): void
}

/** What the head of a response means for a fetch. */
export type Verdict =
  /** A stored response answers all readers, or, with `isForOne`, only the leader. */
  | { kind: 'use'; stored: StoredResponse; outcome: Omit<FetchOutcome, 'isCollapsed'>; isForOne?: boolean }
  /** Ask once more, without conditions. */
  | { kind: 'again' }
  /** The leader gets the head as the app sent it; other readers get it without the fields that are for one client. */
  | {
      kind: 'store'
      outgoing: OutgoingHead
      forOthers: OutgoingHead
      isFor(headers: RequestHeaders): boolean
      /** Only the end of the body tells whether it is stored. */
      isPending?: boolean
    }
  | { kind: 'pass'; outgoing: OutgoingHead; detail: string; isEventStream: boolean }

export type FetchPolicy = {
  /** Asks the instance; called again where the verdict is `again`. */
  ask(isUnconditional: boolean, listener: Listener): UpstreamHandle
  judge(head: Head): Verdict
  /** A stale response to send where the app gives none, if that is allowed. */
  instead(why: Failure): { stored: StoredResponse; outcome: Omit<FetchOutcome, 'isCollapsed'> } | undefined
  /**
   * The body is complete: it becomes an object, which is stored unless it was purged meanwhile. `content` is what the trailer says that it is made of.
   */
  keep(body: Buffer, content?: string): { stored: StoredResponse; isStored: boolean }
  /** Whether so many more bytes of the body may be buffered. What was reserved is given back by `release`. */
  reserve(bytes: number): boolean
  release(bytes: number): void
  /** Where a body goes that is too large for memory; undefined when it cannot be kept. */
  openLarge(length: number | undefined): LargeBody | undefined
  /** No request can join it any more. May be called more than once. */
  onClosed(): void
  /** The fetch is over. */
  onEnd(): void
}

/** Where a body goes that is too large for memory. */
export type LargeBody = {
  /** Whether it accepts more now; if not, `onDrain` is called when it does. */
  write(chunk: Buffer): boolean
  onDrain: () => void
  finish(): void
  abort(): void
}

type Bounds = {
  /** A body up to this length is sent in one piece once it is complete, where its length is known. */
  pieceBytes: number
  /** A body up to this length is buffered in memory. */
  bufferedBytes: number
  /** How long a body may take when no client waits for it. */
  unwatchedMs: number
}

export type Fetch = {
  /** Whether this reader is served by it. */
  join(reader: Reader): boolean
  leave(reader: Reader): void
  /** The highest purge number when it began: its response may contain what later purges remove. */
  readonly purgeNumber: number
}

/** The leader is the reader whose request was sent to the app; a refresh in the background has none. */
export const startFetch = (policy: FetchPolicy, bounds: Bounds, purgeNumber: number, leader?: Reader): Fetch =>
  new SharedFetch(policy, bounds, purgeNumber, leader)

class SharedFetch implements Fetch {
  readonly purgeNumber: number
  private readonly policy: FetchPolicy
  private readonly bounds: Bounds
  private readonly leader: Reader | undefined
  private readonly readers: Set<Reader>
  private stage: 'asking' | 'collecting' | 'passing' | 'over' = 'asking'
  private outgoing: OutgoingHead | undefined
  private forOthers: OutgoingHead | undefined
  private isFor: (headers: RequestHeaders) => boolean = () => true
  private isPending = false
  /** The body is sent as it arrives. */
  private isStreamed = false
  private buffered: Buffer[] = []
  private bufferedBytes = 0
  /** The part of `bufferedBytes` that was reserved. */
  private reservedBytes = 0
  private large: LargeBody | undefined
  /** Those that accept nothing more for now. While there are any, the connection to the app is paused. */
  private readonly full = new Set<Reader | LargeBody>()
  private hasAskedAgain = false
  private timeout: NodeJS.Timeout | undefined
  private asking: UpstreamHandle

  constructor(policy: FetchPolicy, bounds: Bounds, purgeNumber: number, leader: Reader | undefined) {
    this.policy = policy
    this.bounds = bounds
    this.purgeNumber = purgeNumber
    this.leader = leader
    this.readers = new Set(leader ? [leader] : [])
    this.asking = this.ask(false)
  }

  join(reader: Reader): boolean {
    if (this.stage === 'asking') {
      this.readers.add(reader)
      return true
    }
    if (this.stage !== 'collecting' || !this.isFor(reader.headers)) return false
    this.readers.add(reader)
    clearTimeout(this.timeout)
    this.timeout = undefined
    if (!this.isStreamed) return true
    this.begin(reader)
    for (const chunk of this.buffered) reader.write(chunk)
    reader.flush()
    return true
  }

  leave(reader: Reader) {
    if (!this.readers.delete(reader) || this.stage === 'over') return
    this.drained(reader)
    if (this.readers.size > 0) return
    // A response that will be stored is finished anyway, within bounds: it was requested once, and probably will be
    // again.
    if (this.stage === 'collecting' || this.large) this.startTimeout()
    else this.stop()
  }

  private ask(isUnconditional: boolean): UpstreamHandle {
    return this.policy.ask(isUnconditional, {
      interim: (head) => this.interim(head),
      head: (head, length) => this.head(head, length),
      data: (chunk) => this.data(chunk),
      flush: () => this.flush(),
      end: (content) => this.end(content),
      fail: (why) => this.fail(why),
    })
  }

  private interim(received: Head) {
    if (this.stage === 'asking') for (const reader of this.readers) reader.interim(received)
  }

  private head(received: Head, length: number | undefined) {
    const { leader } = this
    const verdict = this.policy.judge(received)
    switch (verdict.kind) {
      case 'again':
        this.asking.abort()
        // The unconditional request had the same result.
        if (this.hasAskedAgain) return this.fail('broken')
        this.hasAskedAgain = true
        this.asking = this.ask(true)
        return
      case 'use':
        // A 304 ends with its head, so its connection can be used again.
        if (received.status !== 304) this.asking.abort()
        if (verdict.isForOne) this.sendAway((reader) => reader !== leader)
        return this.settle((reader) =>
          reader.whole(verdict.stored, { ...verdict.outcome, isCollapsed: reader !== leader }),
        )
      case 'store':
        this.outgoing = verdict.outgoing
        this.forOthers = verdict.forOthers
        this.isFor = verdict.isFor
        this.isPending = verdict.isPending ?? false
        return this.collect(length)
      case 'pass':
        this.outgoing = verdict.outgoing
        if (verdict.isEventStream) this.asking.becomeStream()
        return this.pass(verdict.detail)
    }
  }

  private collect(length: number | undefined) {
    this.sendAway((reader) => !this.isFor(reader.headers))
    if (length !== undefined && length > this.bounds.bufferedBytes) return this.spill(length)
    this.stage = 'collecting'
    this.isStreamed = length === undefined || length > this.bounds.pieceBytes
    if (this.isStreamed) for (const reader of this.readers) this.begin(reader)
    if (this.readers.size === 0) this.startTimeout()
  }

  private pass(detail: string) {
    this.stage = 'passing'
    this.policy.onClosed()
    this.sendAway((reader) => reader !== this.leader)
    for (const reader of this.readers) {
      reader.onDrain = () => this.drained(reader)
      reader.begin(this.outgoing as OutgoingHead, { isStored: false, isCollapsed: false, detail })
    }
    if (this.readers.size === 0) this.stop()
  }

  /** Too large to buffer: from here on it is read at the speed of the slowest reader. */
  private spill(length: number | undefined) {
    const isBegun = this.stage === 'collecting'
    this.stage = 'passing'
    this.policy.onClosed()
    const opened = this.policy.openLarge(length)
    if (opened) {
      this.large = opened
      opened.onDrain = () => this.drained(opened)
      for (const chunk of this.buffered) opened.write(chunk)
    }
    this.releaseBuffer()
    for (const reader of this.readers) {
      if (!isBegun) this.begin(reader)
      reader.onDrain = () => this.drained(reader)
    }
    if (this.readers.size > 0) return
    if (opened) this.startTimeout()
    else this.stop()
  }

  private releaseBuffer() {
    this.buffered = []
    this.policy.release(this.reservedBytes)
    this.reservedBytes = 0
  }

  private begin(reader: Reader) {
    const isLeader = reader === this.leader
    const { status, reason, headers } = (isLeader ? this.outgoing : this.forOthers) as OutgoingHead
    const isStored = this.stage === 'collecting' && !this.isPending
    const detail = this.isPending ? { detail: 'content-pending' } : {}
    const outcome = { isStored, isCollapsed: !isLeader, ...detail }
    reader.begin({ status, reason, headers: [...headers] }, outcome)
  }

  private data(chunk: Buffer) {
    if (this.stage === 'over') return
    if (this.stage === 'collecting') return this.buffer(chunk)
    const { full, large } = this
    const wasFull = full.size > 0
    if (large && !large.write(chunk)) full.add(large)
    for (const reader of this.readers) if (!reader.write(chunk)) full.add(reader)
    if (full.size > 0 && !wasFull) this.asking.pause()
  }

  private flush() {
    for (const reader of this.readers) reader.flush()
  }

  private buffer(chunk: Buffer) {
    this.bufferedBytes += chunk.length
    // A copy: the chunk is a slice of a larger read buffer, which it would keep in memory.
    this.buffered.push(Buffer.from(chunk))
    // A short body that is sent in one piece is not counted, because there is no other way to send it.
    if (!this.isStreamed) return
    for (const reader of this.readers) reader.write(chunk)
    const isTooLarge = this.bufferedBytes > this.bounds.bufferedBytes || !this.policy.reserve(chunk.length)
    if (isTooLarge) this.spill(undefined)
    else this.reservedBytes += chunk.length
  }

  private drained(target: Reader | LargeBody) {
    if (this.full.delete(target) && this.full.size === 0) this.asking.resume()
  }

  private end(content?: string) {
    if (this.stage === 'over') return
    if (this.stage === 'collecting') {
      const { buffered, outgoing, leader, isStreamed } = this
      const { stored, isStored } = this.policy.keep(
        buffered.length === 1 ? (buffered[0] as Buffer) : Buffer.concat(buffered),
        content,
      )
      return this.settle((reader) => {
        if (isStreamed) reader.end()
        else if (reader === leader) reader.whole(stored, { isStored, isCollapsed: false }, outgoing)
        else reader.whole(stored, { isStored, isCollapsed: true })
      })
    }
    this.large?.finish()
    this.settle((reader) => reader.end())
  }

  private fail(why: Failure) {
    if (this.stage === 'over') return
    const instead = this.stage === 'asking' ? this.policy.instead(why) : undefined
    this.large?.abort()
    this.settle((reader) => {
      if (instead) reader.whole(instead.stored, { ...instead.outcome, isCollapsed: reader !== this.leader })
      else reader.fail(why)
    })
  }

  private settle(notify: (reader: Reader) => void) {
    this.stage = 'over'
    clearTimeout(this.timeout)
    this.releaseBuffer()
    this.policy.onClosed()
    this.policy.onEnd()
    const all = [...this.readers]
    this.readers.clear()
    for (const reader of all) notify(reader)
  }

  /** These readers cannot use the response and fetch on their own. */
  private sendAway(isExcluded: (reader: Reader) => boolean) {
    for (const reader of [...this.readers]) {
      if (!isExcluded(reader)) continue
      this.readers.delete(reader)
      reader.askAlone()
    }
  }

  private stop() {
    this.asking.abort()
    this.large?.abort()
    this.settle(() => undefined)
  }

  /** No client waits any more. */
  private startTimeout() {
    this.timeout ??= setTimeout(() => this.stop(), this.bounds.unwatchedMs)
  }
}
