/**
 * Watches how much jobs write: bytes, and files, of which a disk has a fixed number, too. To measure a folder takes long when
 * there is much in it, and to ask for the free space of the disk takes no time at all: whatever a job has written, the disk has
 * lost. So the free space is polled often, and a folder is measured only when its job could have reached its limit by what the
 * disk lost since the last measurement.
 */
import {
  type Amounts,
  BUDGET_MS,
  createDiskScans,
  type DiskTools,
  MEASURED,
  realTools,
  reportExcess,
  type WatchedWriter,
  type Writer,
  watchedWriter,
} from './disk-scans.ts'
import type { Measured, Space } from './measure.ts'

export type Disks = {
  /** Returns a function that stops watching. */
  add(writer: Writer): () => void
}

type Options = {
  reserveBytes: number
  /** For tests. */
  tools?: DiskTools
}

type Disk = {
  folder: string
  writers: Set<WatchedWriter>
  free: Space | undefined
  /** While a job is being killed, or when none was found, the next one is not looked for before this time. */
  calmUntil: number
}

const FAR_MS = 250
const NEAR_MS = 50
const NEAR: Amounts = { bytes: 512 * 1024 ** 2, files: 100_000 }
/** What others remove meanwhile hides what a job writes, so every folder is measured from time to time. */
const STALE_MS = 60_000
const PART_OF_CORE = 0.05
const CALM_MS = 3000
const RESERVE_FILES = 10_000
/** A job that wrote less than this is not killed for a full disk: it would not help. */
const MIN_WRITTEN: Amounts = { bytes: 64 * 1024 ** 2, files: 50_000 }

export function openDisks({ reserveBytes, tools = realTools }: Options): Disks {
  const disks = new Map<number, Disk>()
  const writers = new Set<WatchedWriter>()
  const { measure, measureSoon } = createDiskScans(tools)
  let timer: NodeJS.Timeout | undefined
  let isPolling = false
  let polledAt = 0

  /** Kills the job that wrote most since it began, if that was much: one at a time. */
  async function relieve(disk: Disk, what: Measured) {
    const began = performance.now()
    disk.calmUntil = Number.POSITIVE_INFINITY
    let worst: { writer: WatchedWriter; size: number } | undefined
    for (const writer of disk.writers) {
      const size = writer.isOver ? undefined : await measure(writer)
      if (size === undefined) continue
      const grown = what === 'bytes' ? size.bytes - writer.bytesAtFirst : size.files
      if (grown > (worst?.size ?? 0)) worst = { writer, size: grown }
    }
    const isMuch = worst && worst.size >= MIN_WRITTEN[what]
    if (isMuch && worst && !worst.writer.isOver) reportExcess(worst.writer, 'fullDisk')
    const tookMs = performance.now() - began
    disk.calmUntil = performance.now() + (isMuch ? CALM_MS : Math.max(CALM_MS, tookMs / PART_OF_CORE))
  }

  /** Returns whether the disk has to be polled again soon. */
  async function checkDisk(disk: Disk): Promise<boolean> {
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

  /** Returns whether the job has to be checked again soon. */
  function checkWriter(writer: WatchedWriter, passedMs: number): boolean {
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

  async function poll() {
    if (isPolling) return
    isPolling = true
    try {
      const areFull = await Promise.all([...disks.values()].map(checkDisk))
      const now = performance.now()
      const areNear = [...writers].map((writer) => checkWriter(writer, now - polledAt))
      polledAt = now
      plan([...areFull, ...areNear].includes(true) ? NEAR_MS : FAR_MS)
    } finally {
      isPolling = false
    }
  }

  function plan(ms: number) {
    clearTimeout(timer)
    timer = writers.size > 0 ? setTimeout(() => void poll(), ms).unref() : undefined
  }

  async function attach(writer: WatchedWriter) {
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
      const watched = watchedWriter(writer)
      if (writer.folders.length === 0) return () => undefined
      if (writers.size === 0) polledAt = performance.now()
      writers.add(watched)
      void attach(watched).then(poll)
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
