/** The state of an environment as a picture for everyone. */
import { boolean } from '../schema.ts'

export const badge = boolean({
  description:
    'Whether everyone can see the name and the state of the environment as a picture, at `badge.svg` below it. False unless given.',
})

export const BADGE_STATES = ['live', 'building', 'failing', 'held', 'never deployed'] as const
export type BadgeState = (typeof BADGE_STATES)[number]
