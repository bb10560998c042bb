/**
 * Folders that appear at once and as a whole, or not at all. Until then a folder is a draft beside its place, and its name
 * tells which process is at work on it.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

const DRAFT = /\.(\d+)-(\w+)-[0-9a-f-]{36}\.new$/

export const draftOf = (place: string): string =>
  `${place}.${process.pid}-${startOf(process.pid) ?? 'unknown'}-${randomUUID()}.new`

export const isDraft = (name: string): boolean => DRAFT.test(name)

/** `fill` makes the folder of the name it is given; it is seen at `place` when all of it is there. */
export async function putInPlace(place: string, fill: (draft: string) => Promise<void>): Promise<void> {
  const draft = draftOf(place)
  try {
    await fill(draft)
    await rename(draft, place).catch((error) => {
      // Somebody else made the same meanwhile.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Out of sight first: nobody finds half a folder. */
export async function removeWhole(place: string): Promise<void> {
  const draft = draftOf(place)
  await rename(place, draft).catch((error) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rm(draft, { recursive: true, force: true })
}

/** Removes what processes left that are gone. */
export async function sweepDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, start] = DRAFT.exec(name) ?? []
    if (pid === undefined || startOf(Number(pid)) === start) continue
    // What it had started may still be at work there, for a moment.
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 })
  }
}

/** When the process started, in ticks since the boot: an id that is used again has another one. */
function startOf(pid: number): string | undefined {
  try {
    // The name of the program stands in brackets, and may hold any.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19]
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
