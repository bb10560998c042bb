/**
 * Saves a change of an environment only if it is still as whoever changed it has seen it. Where others changed something
 * else meanwhile, the change is made to what is there now; where they changed the same part, they are asked.
 */
import { call } from './client.ts'
import { isOutdated } from './problem.ts'
import type { Environment, Operation } from './types.ts'

/** Each time that it is not enough, somebody else has saved in the moment between reading and writing. */
const MAX_TRIES = 5

/** The operation, or the environment as it is now where that has to be looked at first. */
export type Saved = { operation: Operation } | { now: Environment }

export async function saveEnvironment(
  name: string,
  etag: string,
  body: object,
  /** Whether others changed nothing of the part that is being saved. */
  isUntouched: (now: Environment) => boolean,
): Promise<Saved> {
  let known = etag
  for (let tries = 1; ; tries++) {
    try {
      const patch = { method: 'PATCH', query: { updateMask: Object.keys(body).join(',') } } as const
      return { operation: await call<Operation>(`/v1/${name}`, { ...patch, body: { ...body, etag: known } }) }
    } catch (error) {
      if (!isOutdated(error) || tries === MAX_TRIES) throw error
    }
    const now = await call<Environment>(`/v1/${name}`)
    if (!isUntouched(now)) return { now }
    known = now.etag
  }
}
