/**
 * The pin that a rollback makes: while an environment is pinned, rebuilds build this archive and not the newest upload.
 */
import { object, optional, type Static, string, time } from '../schema.ts'

export const pin = object(
  {
    archive: string({ description: 'Digest of the archive that rebuilds build.' }),
    deployment: string({
      description: 'The deployment that was made live. Later builds of the archive may replace it.',
    }),
    operation: optional(string({ description: 'The activation that pinned it, where it is known.' })),
    time: time('Since when.'),
  },
  {
    title: 'Pin',
    description:
      'Set by an activation of a deployment that is not of the newest upload: rebuilds by the API and by webhooks then build its archive. An upload that goes live, an activation of the newest upload, or `:unpin` ends it.',
  },
)
export type Pin = Static<typeof pin>
