/**
 * Saves a change of an environment with its etag. Where other users changed something else meanwhile, the change is
 * applied to the current version; where they changed the same part, the user is asked.
 */
import { call } from './client.ts'
import { isOutdated } from './problem.ts'
import type { Environment, Operation } from './types.ts'

/** An attempt fails only when another user saves between the read and the write. */
const MAX_TRIES = 5

/** The operation, or the current environment where the user has to look at it first. */
export type Saved = { operation: Operation } | { now: Environment }

export async function saveEnvironment(
  name: string,
  etag: string,
  body: object,
  /** Whether other users changed nothing in the part that is being saved. */
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
