/**
 * The disk of the edge's cache as tests open it: with everything that it replayed on open, and an index like the
 * edge's.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DiskOptions, openDisk, type Place } from '../../../src/edge/cache/disk/index.ts'
import { isMissing } from '../../../src/edge/cache/disk/marker.ts'
import type { Scope } from '../folder.ts'

export type Opened = Awaited<ReturnType<typeof openTestDisk>>

export async function openTestDisk(t: Scope, options: Partial<DiskOptions> & { folder: string }) {
  const replayed: string[] = []
  const reports: unknown[] = []
  const places = new Map<string, Place>()
  const disk = await openDisk({
    maxBytes: 64 * 1024 * 1024,
    bootId: 'boot-1',
    report: (error) => reports.push(error),
    onPut(place, meta) {
      replayed.push(`put ${meta}`)
      places.set(meta, place)
    },
    onNote: (text) => replayed.push(`note ${text}`),
    ...options,
  })
  t.after(() => disk.close())
  return { ...disk, replayed, reports, places }
}

/** Copies a folder, and adjusts its marker so that the copy is accepted: one start can be tried with many endings. */
export function copyAsIfItWereTheSame(from: string, to: string) {
  mkdirSync(to)
  for (const name of readdirSync(from)) {
    try {
      copyFileSync(join(from, name), join(to, name))
    } catch (error) {
      // A dropped segment is deleted a little later, perhaps during this copy.
      if (!isMissing(error)) throw error
    }
  }
  const marker = join(to, 'valid')
  const [folder, self] = [to, marker].map((path) => {
    const { dev, ino, birthtimeMs } = statSync(path)
    return `${dev}:${ino}:${birthtimeMs}`
  })
  const content = { ...JSON.parse(readFileSync(marker, 'utf8')), folder, self }
  writeFileSync(marker, JSON.stringify(content))
}
