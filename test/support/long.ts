/**
 * Tests that do the same thing over and over do it a few times by default, and as often as it takes to trust the result
 * with `npm run test:long`. What takes minutes once is done by that alone.
 */
export const isLong = process.env.TEST_LONG === 'yes'

export const rounds = ({ short, long }: { short: number; long: number }): number => (isLong ? long : short)
