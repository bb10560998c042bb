/** The process that compares two snapshots: it does one comparison, sends one result and ends. */
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LIMITS } from '../../contract/index.ts'
import { openSealed } from '../pack.ts'
import { compareContent, type Entry, latestOf } from './compare.ts'
import type { CompareTask } from './run.ts'

const MAX_BYTES = LIMITS.contentSnapshotBytes + LIMITS.contentSnapshotAnswers * 24 * 1024

async function compare({ files, sealing, folder }: CompareTask) {
  const [before, after] = await Promise.all(files.map((file, at) => read(file, join(folder, String(at)))))
  if (!before || !after) throw new Error('there are two snapshots')
  // Both are open: nothing is left in clear, however this process ends.
  await rm(folder, { recursive: true, force: true })
  return compareContent(before, after)

  async function read(file: string, into: string) {
    await mkdir(into, { mode: 0o700 })
    await openSealed(file, into, sealing, MAX_BYTES)
    const lines = (await readFile(join(into, 'index'), 'utf8')).split('\n').filter((line) => line !== '')
    const bodies = await open(join(into, 'bodies'))
    return {
      entries: latestOf(lines.map((line) => JSON.parse(line) as Entry)),
      async bodyOf({ at, length }: Entry) {
        const body = Buffer.alloc(length)
        await bodies.read(body, 0, length, at)
        return body.toString()
      },
    }
  }
}

const [task] = (await once(process, 'message')) as [CompareTask]
process.once('disconnect', () => {
  rmSync(task.folder, { recursive: true, force: true })
  process.exit()
})
try {
  process.send?.({ done: await compare(task) })
} catch (error) {
  process.send?.({ fault: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}
