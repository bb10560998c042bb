/**
 * Creates and removes folders atomically. Until a folder is complete it is a draft beside its final path, and its name has the
 * id of the process that writes it.
 */
import { randomUUID } from 'node:crypto'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, startTimeOf } from '../../base/index.ts'

const DRAFT = /\.(\d+)-(\w+)-[0-9a-f-]{36}\.new$/

export const draftOf = (place: string): string =>
  `${place}.${process.pid}-${startTimeOf(process.pid) ?? 'unknown'}-${randomUUID()}.new`

export const isDraft = (name: string): boolean => DRAFT.test(name)

/** `fill` creates the folder `draft`, which is then renamed to `place`. */
export async function putInPlace(place: string, fill: (draft: string) => Promise<void>): Promise<void> {
  const draft = draftOf(place)
  try {
    await fill(draft)
    await rename(draft, place).catch((error) => {
      // Another process made the same folder meanwhile.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Renames first, so that no process finds half a folder. */
export async function removeWhole(place: string): Promise<void> {
  const draft = draftOf(place)
  await rename(place, draft).catch(absent)
  await rm(draft, { recursive: true, force: true })
}

/** Removes drafts of processes that have ended. */
export async function sweepDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, start] = DRAFT.exec(name) ?? []
    if (pid === undefined || startTimeOf(Number(pid)) === start) continue
    // Its child processes may still write there for a moment.
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 })
  }
}
