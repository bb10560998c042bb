/** How long the edge keeps pages of which it knows the content that they are made of. */
import { LIMITS } from '../../limits.ts'
import { integer, nullable, object, type Static } from '../../schema.ts'

export const learnedCaching = nullable(
  object(
    {
      maxAgeSeconds: integer({
        minimum: 1,
        maximum: LIMITS.learnedCachingSeconds,
        description: 'For how long a page is kept at most, if no content of it changes.',
      }),
    },
    { title: 'LearnedCaching' },
  ),
  {
    description:
      'Pages that the app renders on request are kept by the edge, and purged when the CMS says that their content changed. Null: only what the app allows is kept.',
  },
)
export type LearnedCaching = NonNullable<Static<typeof learnedCaching>>
