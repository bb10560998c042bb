/** Etags (AIP-154): the version of a resource that a caller has read, and the version that a change applies to. */
import { optional, string } from './schema.ts'

/** The version that the caller of a change has read. */
export const expectedEtag = optional(
  string({
    maxLength: 200,
    description: 'The `etag` that was read. If it is not the current one, nothing is done: 409, `ETAG_MISMATCH`.',
  }),
)

/** `covers` names the changes after which the etag differs. */
export const etagOf = (covers: string) => string({ description: `It differs after every change of ${covers}.` })
