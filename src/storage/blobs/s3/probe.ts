/** Finds out whether a bucket can be used: a write, a read and a delete, each timed. */
import { hash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { randomToken } from '../../../base/index.ts'
import { type Bucket, createClient, TIMEOUTS } from './client.ts'
import { createObjects } from './objects.ts'

export type Probed = {
  host: string
  writeMs: number
  readMs: number
  deleteMs: number
  /** Whether the bucket keeps versions that were overwritten or deleted; undefined if the key may not ask. */
  isVersioned: boolean | undefined
}

const PROBE_BYTES = 1024

/** Rejects with words that say what to do. */
export async function probeBucket({ bucket, prefix }: { bucket: Bucket; prefix: string }): Promise<Probed> {
  const objects = createObjects(
    createClient(bucket, { ...TIMEOUTS, idleMs: 5000, writeMs: 2000, readMs: 2000 }),
    prefix,
  )
  const name = `checks/${randomToken()}`
  const bytes = randomBytes(PROBE_BYTES)
  try {
    const [, writeMs] = await timed(() => objects.put(name, bytes))
    const [read, readMs] = await timed(async () => {
      const found = await objects.get(name)
      return found && (await buffer(Readable.from(found.bytes)))
    })
    const [, deleteMs] = await timed(() => objects.remove(name))
    if (!read || hash('sha256', read, 'hex') !== hash('sha256', bytes, 'hex'))
      throw new Error(
        'The object store does not return what was written to it a moment ago. Use one that is consistent.',
      )
    // The key needs no right to ask this.
    const isVersioned = await objects.versioning().then(
      (status) => status === 'Enabled',
      () => undefined,
    )
    return { host: objects.host, writeMs, readMs, deleteMs, isVersioned }
  } finally {
    objects.close()
  }
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const began = performance.now()
  const result = await work()
  return [result, Math.round(10 * (performance.now() - began)) / 10]
}
