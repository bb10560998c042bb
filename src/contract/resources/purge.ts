/** What is to be purged from the cache: by callers of the API, and by apps themselves. */
import { LIMITS } from '../limits.ts'
import { array, integer, mapOf, object, optional, type Static, string } from '../schema.ts'

const purgedPath = string({
  maxLength: LIMITS.purgeEntryLength,
  pattern: '^/[^\\p{Cc}\\p{Cs}]*$',
  'x-form': 'must be a path that begins with a slash, such as /news, without a host and without control characters',
  description: 'Path of a page, beginning with a slash; without a host.',
})
const purgedTag = string({
  maxLength: LIMITS.purgeEntryLength,
  pattern: '^[^\\p{Cc}\\p{Cs}]+$',
  'x-form': 'must be text without control characters',
  description: 'A tag that responses carry in `Cache-Tag`: text without control characters.',
})

export const clearCache = object(
  {
    paths: optional(array(purgedPath, { maxItems: LIMITS.purgeEntries })),
    tags: optional(array(purgedTag, { maxItems: LIMITS.purgeEntries })),
  },
  {
    title: 'ClearCache',
    description: `What has one of the paths or tags, at most ${LIMITS.purgeEntries} together; with neither, everything.`,
  },
)
export type ClearCache = Static<typeof clearCache>

/** Sent by apps themselves, to a route that is not part of the public API. */
const tagTimes = mapOf(integer({ minimum: 0 }), { maxProperties: LIMITS.purgeEntries, propertyNames: purgedTag })
export const purgedTags = object({
  tags: array(purgedTag, { maxItems: LIMITS.purgeEntries }),
  /** The time since which older content with this tag is invalid, in milliseconds of Unix time. */
  revalidated: optional(tagTimes),
  /** When pages were made. */
  made: optional(tagTimes),
})
export type PurgedTags = Static<typeof purgedTags>
