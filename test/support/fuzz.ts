/**
 * How property tests are run: few cases with every `npm test`, chosen anew each time, and many by hand, as in
 * `FUZZ_RUNS=50 npm run fuzz`. A failure prints its seed and the smallest case that shows it; `FUZZ_SEED` runs that again.
 */
import fc from 'fast-check'

const times = Number(process.env.FUZZ_RUNS ?? 1)
const seed = process.env.FUZZ_SEED === undefined ? undefined : Number(process.env.FUZZ_SEED)
if (!(times > 0)) throw new Error('FUZZ_RUNS is by how much to multiply the number of cases: a number above 0')

/** Checks the property with so many cases, times `FUZZ_RUNS`. */
export async function holds<T>(property: fc.IRawProperty<T>, runs: number): Promise<void> {
  await fc.assert(property as fc.IAsyncProperty<T>, {
    numRuns: Math.max(1, Math.round(runs * times)),
    ...(seed === undefined ? {} : { seed }),
    // A case that does not come to an end is a finding, too. A failure is made smaller for a while, and not for ever.
    timeout: CASE_MS,
    interruptAfterTimeLimit: Math.max(1, times) * LIMIT_MS,
    markInterruptAsFailure: false,
  })
}

const CASE_MS = 20_000
const LIMIT_MS = 120_000

/** What usually goes wrong in text that others write: each of them alone, and within something longer. */
export const NASTY = [
  '',
  ' ',
  '\0',
  '\r',
  '\n',
  '\t',
  '..',
  '../',
  '/',
  '\\',
  ':',
  '%2e%2e',
  '%00',
  '$(id)',
  '`id`',
  ';id',
  '|id',
  '&&id',
  "'",
  '"',
  '<script>',
  '__proto__',
  'constructor',
  '\u202e',
  '\u2028',
  '\ud800',
  'ß',
  'İ',
  'ﬀ',
  'é',
  'e\u0301',
  '😀',
] as const

/** Text that is often nearly right: letters of the grammar, and now and then something nasty among them. */
export const nearly = (letters: string, longest = 12): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        { weight: 12, arbitrary: fc.constantFrom(...letters) },
        { weight: 1, arbitrary: fc.constantFrom(...NASTY) },
      ),
      { maxLength: longest },
    )
    .map((parts) => parts.join(''))
