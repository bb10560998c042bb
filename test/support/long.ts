/**
 * Tests that repeat one thing many times do so a few times by default, and as often as a reliable result needs with
 * `npm run test:long`. Tests that take minutes run only there.
 */
export const isLong = process.env.TEST_LONG === 'yes'

export const rounds = ({ short, long }: { short: number; long: number }): number => (isLong ? long : short)
