/** Etags (AIP-154): which version of a resource a caller has read, and which one a change is meant for. */
import { optional, string } from './schema.ts'

/** What a change may name: the version that its caller has read. */
export const expectedEtag = optional(
  string({
    maxLength: 200,
    description:
      'The `etag` that was read. If it is not the one that there is now, nothing is done: 409, `ETAG_MISMATCH`.',
  }),
)

/** `covers` says with which changes it becomes another one. */
export const etagOf = (covers: string) => string({ description: `Another one after every change of ${covers}.` })
