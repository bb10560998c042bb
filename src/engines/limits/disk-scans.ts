/** Measures the folders of jobs, a few at a time, and reports a job that is above its limit of bytes or files. */
import { stat } from 'node:fs/promises'
import type { DiskExcess } from './limits.ts'
import { type Measured, namelessBytes, type Space, sizeOf, spaceAt } from './measure.ts'

export type Writer = {
  folders: readonly string[]
  /** Null for no limit. */
  max: Record<Measured, number | null>
  processes(): number[]
  /** Called when it wrote more than it may, or when the disk is full and it wrote the most. */
  onExcess(what: DiskExcess): void
}

export type Amounts = Record<Measured, number>

export type WatchedWriter = Writer & {
  /** As last measured. */
  size: Amounts | undefined
  bytesAtFirst: number
  /** What the disks lost since the last measurement: at least as much as it can have written. */
  lost: Amounts
  measuredAt: number
  isMeasuring: boolean
  /** The time that may be spent on measuring it, refilled slowly. */
  budgetMs: number
  isOver: boolean
}

export type DiskTools = {
  deviceOf(folder: string): Promise<number | undefined>
  spaceAt(folder: string): Promise<Space>
  sizeOf(writer: Writer, what: Measured): Promise<number | undefined>
}

export const BUDGET_MS = 1000
export const MEASURED = ['bytes', 'files'] as const
/** Files first: the bytes of a job with too many files to count are not known either. */
const CHECK_ORDER = ['files', 'bytes'] as const
const MIN_COST_MS = 20
const MAX_SCANS = 2

export const realTools: DiskTools = {
  deviceOf: async (folder) => (await stat(folder).catch(() => undefined))?.dev,
  spaceAt,
  async sizeOf(writer, what) {
    const size = await sizeOf(writer.folders, what)
    return size === undefined || what === 'files' ? size : size + (await namelessBytes(writer.processes()))
  },
}

export const watchedWriter = (writer: Writer): WatchedWriter => ({
  ...writer,
  size: undefined,
  bytesAtFirst: 0,
  lost: { bytes: 0, files: 0 },
  measuredAt: 0,
  isMeasuring: false,
  budgetMs: BUDGET_MS,
  isOver: false,
})

export function reportExcess(writer: WatchedWriter, what: DiskExcess) {
  if (writer.isOver) return
  writer.isOver = true
  writer.onExcess(what)
}

export function createDiskScans(tools: DiskTools) {
  const queue: WatchedWriter[] = []
  let busyScans = 0

  async function measure(writer: WatchedWriter): Promise<Amounts | undefined> {
    const began = performance.now()
    // What is written during the measurement may be counted or not, so it stays in `lost`.
    const lostBefore = { ...writer.lost }
    const [bytes, files] = await Promise.all(MEASURED.map((what) => tools.sizeOf(writer, what)))
    writer.budgetMs -= Math.max(MIN_COST_MS, performance.now() - began)
    writer.measuredAt = performance.now()
    if (bytes === undefined || files === undefined) return undefined
    if (writer.size === undefined) writer.bytesAtFirst = bytes
    writer.size = { bytes, files }
    for (const what of MEASURED) writer.lost[what] = Math.max(0, writer.lost[what] - lostBefore[what])
    return writer.size
  }

  /** Queued, since each scan is a process. */
  function measureSoon(writer: WatchedWriter) {
    if (writer.isMeasuring) return
    writer.isMeasuring = true
    queue.push(writer)
    work()
  }

  function work() {
    while (busyScans < MAX_SCANS) {
      const writer = queue.shift()
      if (!writer) return
      busyScans++
      void (writer.isOver ? Promise.resolve(undefined) : measure(writer))
        .then((size) => {
          const beyond = CHECK_ORDER.find((what) => size !== undefined && size[what] > (writer.max[what] ?? Infinity))
          if (beyond) reportExcess(writer, beyond === 'bytes' ? 'disk' : 'files')
        })
        .finally(() => {
          writer.isMeasuring = false
          busyScans--
          work()
        })
    }
  }

  return { measure, measureSoon }
}
