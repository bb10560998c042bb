/**
 * Watches how much jobs write: bytes, and files, of which a disk has a number, too. To go through a folder takes long when
 * there is much in it, and to ask how much of the disk is free takes no time at all: whatever a job has written, the disk has
 * lost. So the free space is looked at often, and the folders only when a job could have reached its limit by what the disk
 * lost since they were last gone through.
 */
import { stat } from 'node:fs/promises'
import { type Measured, namelessBytes, type Space, sizeOf, spaceAt } from './measure.ts'

export type Writer = {
  folders: readonly string[]
  /** Null for no limit. */
  max: Record<Measured, number | null>
  processes(): number[]
  /** It wrote too much, or too much is written altogether and it wrote the most. */
  onExcess(what: 'disk' | 'files'): void
}

export type Disks = {
  /** Gives back how to stop. */
  add(writer: Writer): () => void
}

type Options = {
  reserveBytes: number
  /** For tests. */
  tools?: Tools
}

type Tools = {
  deviceOf(folder: string): Promise<number | undefined>
  spaceAt(folder: string): Promise<Space>
  sizeOf(writer: Writer, what: Measured): Promise<number | undefined>
}

type Amounts = Record<Measured, number>

type Watched = Writer & {
  /** As last gone through. */
  size: Amounts | undefined
  bytesAtFirst: number
  /** What the disks lost since then: more than it can have written. */
  lost: Amounts
  measuredAt: number
  isMeasuring: boolean
  /** What may be spent on it, filled up slowly. */
  budgetMs: number
  isOver: boolean
}

type Disk = {
  folder: string
  writers: Set<Watched>
  free: Space | undefined
  /** While one is being ended, or when nobody was found, the next one is not looked for before this. */
  calmUntil: number
}

const MEASURED = ['bytes', 'files'] as const
const ORDER = ['files', 'bytes'] as const

const FAR_MS = 250
const NEAR_MS = 50
const NEAR: Amounts = { bytes: 512 * 1024 ** 2, files: 100_000 }
/** What others remove meanwhile hides what a job writes. So it is gone through from time to time in any case. */
const STALE_MS = 60_000
const PART_OF_CORE = 0.05
const BUDGET_MS = 1000
const LEAST_COST_MS = 20
const LANES = 2
const CALM_MS = 3000
const RESERVE_FILES = 10_000
/** Who wrote less than this is not ended for a full disk: it would not help. */
const LEAST_BYTES = 64 * 1024 ** 2
const LEAST_FILES = 50_000

const realTools: Tools = {
  deviceOf: async (folder) => (await stat(folder).catch(() => undefined))?.dev,
  spaceAt,
  async sizeOf(writer, what) {
    const size = await sizeOf(writer.folders, what)
    return size === undefined || what === 'files' ? size : size + (await namelessBytes(writer.processes()))
  },
}

export function openDisks({ reserveBytes, tools = realTools }: Options): Disks {
  const disks = new Map<number, Disk>()
  const writers = new Set<Watched>()
  const queue: Watched[] = []
  let busyScans = 0
  let timer: NodeJS.Timeout | undefined
  let isRound = false
  let roundAt = 0

  async function measure(writer: Watched): Promise<Amounts | undefined> {
    const began = performance.now()
    // What is written from here on may be counted or not: it is held against the writer once more.
    const lostBefore = { ...writer.lost }
    const [bytes, files] = await Promise.all(MEASURED.map((what) => tools.sizeOf(writer, what)))
    writer.budgetMs -= Math.max(LEAST_COST_MS, performance.now() - began)
    writer.measuredAt = performance.now()
    if (bytes === undefined || files === undefined) return undefined
    if (writer.size === undefined) writer.bytesAtFirst = bytes
    writer.size = { bytes, files }
    for (const what of MEASURED) writer.lost[what] = Math.max(0, writer.lost[what] - lostBefore[what])
    return writer.size
  }

  function exceed(writer: Watched, what: Measured) {
    if (writer.isOver) return
    writer.isOver = true
    writer.onExcess(what === 'bytes' ? 'disk' : 'files')
  }

  /** Not all at once: each is a process. */
  function measureSoon(writer: Watched) {
    if (writer.isMeasuring) return
    writer.isMeasuring = true
    queue.push(writer)
    work()
  }

  function work() {
    while (busyScans < LANES) {
      const writer = queue.shift()
      if (!writer) return
      busyScans++
      void (writer.isOver ? Promise.resolve(undefined) : measure(writer))
        .then((size) => {
          // Of one whose files are too many to be counted, the bytes are not known either.
          const beyond = ORDER.find((what) => size !== undefined && size[what] > (writer.max[what] ?? Infinity))
          if (beyond) exceed(writer, beyond)
        })
        .finally(() => {
          writer.isMeasuring = false
          busyScans--
          work()
        })
    }
  }

  /** Who wrote most since it began, if that was much, is ended: one at a time. */
  async function relieve(disk: Disk, what: Measured) {
    const began = performance.now()
    disk.calmUntil = Number.POSITIVE_INFINITY
    let worst: { writer: Watched; size: number } | undefined
    for (const writer of disk.writers) {
      const size = writer.isOver ? undefined : await measure(writer)
      if (size === undefined) continue
      const grown = what === 'bytes' ? size.bytes - writer.bytesAtFirst : size.files
      if (grown > (worst?.size ?? 0)) worst = { writer, size: grown }
    }
    const isMuch = worst && worst.size >= (what === 'bytes' ? LEAST_BYTES : LEAST_FILES)
    if (isMuch && worst && !worst.writer.isOver) exceed(worst.writer, what)
    const tookMs = performance.now() - began
    disk.calmUntil = performance.now() + (isMuch ? CALM_MS : Math.max(CALM_MS, tookMs / PART_OF_CORE))
  }

  /** Whether it has to be looked at again soon. */
  async function look(disk: Disk): Promise<boolean> {
    const space = await tools.spaceAt(disk.folder).catch(() => undefined)
    if (!space) return false
    const before = disk.free ?? space
    disk.free = space
    for (const { lost } of disk.writers) {
      lost.bytes += Math.max(0, before.freeBytes - space.freeBytes)
      lost.files += Math.max(0, (before.freeFiles ?? 0) - (space.freeFiles ?? 0))
    }
    const isNear = space.freeBytes < 2 * reserveBytes
    if (performance.now() < disk.calmUntil) return isNear
    if (space.freeBytes < reserveBytes) void relieve(disk, 'bytes')
    else if (space.freeFiles !== undefined && space.freeFiles < RESERVE_FILES) void relieve(disk, 'files')
    return isNear
  }

  /** The same of one who writes. */
  function judge(writer: Watched, passedMs: number): boolean {
    writer.budgetMs = Math.min(BUDGET_MS, writer.budgetMs + passedMs * PART_OF_CORE)
    if (writer.isOver) return false
    const { size, max, lost } = writer
    if (size === undefined) {
      if (writer.budgetMs > 0) measureSoon(writer)
      return true
    }
    const left = MEASURED.flatMap((what) => {
      const limit = max[what]
      return limit === null ? [] : { what, amount: limit - size[what] - lost[what] }
    })
    if (left.length === 0) return false
    const isStale = performance.now() - writer.measuredAt > STALE_MS
    if ((isStale || left.some(({ amount }) => amount < 0)) && writer.budgetMs > 0) measureSoon(writer)
    return left.some(({ what, amount }) => amount < NEAR[what])
  }

  async function round() {
    if (isRound) return
    isRound = true
    try {
      const areFull = await Promise.all([...disks.values()].map(look))
      const now = performance.now()
      const areNear = [...writers].map((writer) => judge(writer, now - roundAt))
      roundAt = now
      plan([...areFull, ...areNear].includes(true) ? NEAR_MS : FAR_MS)
    } finally {
      isRound = false
    }
  }

  function plan(ms: number) {
    clearTimeout(timer)
    timer = writers.size > 0 ? setTimeout(() => void round(), ms).unref() : undefined
  }

  async function attach(writer: Watched) {
    for (const folder of writer.folders) {
      const device = await tools.deviceOf(folder)
      if (device === undefined || !writers.has(writer)) continue
      const disk = disks.get(device) ?? { folder, writers: new Set(), free: undefined, calmUntil: 0 }
      disks.set(device, disk)
      disk.writers.add(writer)
    }
  }

  return {
    add(writer) {
      const watched: Watched = {
        ...writer,
        size: undefined,
        bytesAtFirst: 0,
        lost: { bytes: 0, files: 0 },
        measuredAt: 0,
        isMeasuring: false,
        budgetMs: BUDGET_MS,
        isOver: false,
      }
      if (writer.folders.length === 0) return () => undefined
      if (writers.size === 0) roundAt = performance.now()
      writers.add(watched)
      void attach(watched).then(round)
      return () => {
        watched.isOver = true
        writers.delete(watched)
        for (const [device, disk] of disks) {
          if (disk.writers.delete(watched) && disk.writers.size === 0) disks.delete(device)
        }
      }
    },
  }
}
