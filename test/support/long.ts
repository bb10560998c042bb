/**
 * Tests that do the same thing over and over do it a few times by default, and as often as it takes to trust the result
 * with `npm run test:long`.
 */
export const rounds = ({ short, long }: { short: number; long: number }): number =>
  process.env.TEST_LONG === 'yes' ? long : short
