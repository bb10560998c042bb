/**
 * How property tests are run: few random cases with every `npm test`, and many on request, as in `FUZZ_RUNS=50 npm run
 * fuzz`. A failure prints its seed and the smallest case that shows it; `FUZZ_SEED` runs that again.
 */
import fc from 'fast-check'

const times = Number(process.env.FUZZ_RUNS ?? 1)
const seed = process.env.FUZZ_SEED === undefined ? undefined : Number(process.env.FUZZ_SEED)
if (!(times > 0)) throw new Error('FUZZ_RUNS multiplies the number of cases, and must be a number above 0')

/** Checks the property with so many cases, times `FUZZ_RUNS`. */
export async function holds<T>(property: fc.IRawProperty<T>, runs: number): Promise<void> {
  await fc.assert(property as fc.IAsyncProperty<T>, {
    numRuns: Math.max(1, Math.round(runs * times)),
    ...(seed === undefined ? {} : { seed }),
    // A case that never ends is a finding, too. Shrinking a failure is bounded in time.
    timeout: CASE_MS,
    interruptAfterTimeLimit: Math.max(1, times) * LIMIT_MS,
    markInterruptAsFailure: false,
  })
}

const CASE_MS = 20_000
const LIMIT_MS = 120_000

/** Strings that often break parsers, to be used alone and within longer text. */
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

/** Text that is often nearly valid: characters of the grammar, and sometimes a nasty string among them. */
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
