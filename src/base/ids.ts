/**
 * UUID version 7 (RFC 9562, 5.7): ids sort by the time they were made, so they are also the order of every list and the
 * key that a page token resumes from. Within one process they strictly rise (RFC 9562, 6.2, method 1: a counter in
 * rand_a), because two things made in the same millisecond still have an order that people see. Across processes they rise
 * too where the last one is given: a machine may start with its clock behind, and the newest upload must stay the newest.
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from './scheduling/clock.ts'

export type NewId = () => string

const FORM = /^[A-Za-z0-9_-]{1,64}$/

/** Ids may come from stored records: one becomes part of a path only after this check. */
export function checkId(id: string): string {
  if (!isId(id)) throw new Error(`not an id: ${JSON.stringify(id)?.slice(0, 80)}`)
  return id
}

export const isId = (id: unknown): id is string => typeof id === 'string' && FORM.test(id)

const BYTES_PER_ID = 10

/** `after`: an id that was made before, in this process or another; all new ids sort after it. */
export function createIds(clock: Pick<Clock, 'now'>, after?: string): NewId {
  let lastMs = after === undefined ? 0 : Number.parseInt(after.slice(0, 8) + after.slice(9, 13), 16)
  let counter = after === undefined ? 0 : Number.parseInt(after.slice(15, 18), 16)
  // Random bytes are drawn for many ids at once: every request has an id, and drawing is the most expensive part.
  let pool = Buffer.alloc(0)
  let used = 0

  function draw(): Buffer {
    if (used + BYTES_PER_ID > pool.length) {
      pool = randomBytes(BYTES_PER_ID * 256)
      used = 0
    }
    used += BYTES_PER_ID
    return pool.subarray(used - BYTES_PER_ID, used)
  }

  return () => {
    const now = clock.now()
    const random = draw()
    if (now > lastMs) {
      lastMs = now
      // Leaving the top bit free gives at least 2,048 ids before the counter runs over into the next millisecond.
      counter = random.readUInt16BE(8) & 0x7ff
    } else if (++counter > 0xfff) {
      lastMs += 1
      counter = 0
    }
    const time = lastMs.toString(16).padStart(12, '0')
    const variant = ((random.readUInt8(0) & 0x3f) | 0x80).toString(16)
    const tail = random.toString('hex', 1, 8)
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${variant}${tail.slice(0, 2)}-${tail.slice(2)}`
  }
}
