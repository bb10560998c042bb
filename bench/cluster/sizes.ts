/** How many of everything. */
import { IS_QUICK } from '../bench.ts'

export const ENVIRONMENTS = IS_QUICK ? 12 : 300
/** Of them; the others sleep. */
export const AWAKE = IS_QUICK ? 6 : 50
/** Environments that are made by deploys, on each side. */
export const DEPLOYS = IS_QUICK ? 4 : 25
/** Of those, each round: so many one after the other, and the rest at once. */
export const SINGLE_WAKES = IS_QUICK ? 1 : 5
export const WAKE_ROUNDS = IS_QUICK ? 1 : 2
export const PURGES = IS_QUICK ? 10 : 200
export const IDLE_SECONDS = IS_QUICK ? 3 : 30
/** Longer than a measurement with apps that are awake and have no visitors. */
export const SLEEP_AFTER_SECONDS = IS_QUICK ? 15 : 45
