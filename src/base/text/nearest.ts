/** "Did you mean …?": the existing names that a misspelt one probably means. */
import { printableLine } from './terminal-text.ts'

/** Longer names are not compared, nor more of them, since a service may send any number. */
const MAX_LENGTH = 120
const MAX_NAMES = 1000
const MAX_FOUND = 3
/** The characters of a longer name that must be typed for it to match: `env` of `environment`. */
const MIN_START = 3

/** ` Did you mean 'Production'?`, to be appended to a sentence; empty if no name is near. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const found = nearest(typed, names).map((name) => `'${printableLine(name)}'`)
  return found.length === 0 ? '' : ` Did you mean ${found.join(' or ')}?`
}

/** The nearest first; none if no name is near. Case is ignored. */
export function nearest(typed: string, names: readonly string[]): string[] {
  if (typed.length > MAX_LENGTH) return []
  const word = typed.toLowerCase()
  return names
    .slice(0, MAX_NAMES)
    .filter((name) => name !== typed && name.length <= MAX_LENGTH && !isOtherNumber(word, name.toLowerCase()))
    .map((name) => ({ name, steps: stepsBetween(word, name.toLowerCase()) }))
    .filter(({ name, steps }) => steps <= stepsAllowed(word, name))
    .toSorted((a, b) => a.steps - b.steps)
    .slice(0, MAX_FOUND)
    .map(({ name }) => name)
}

/** One mistake in a short word, two or three in a long one. */
function stepsAllowed(word: string, name: string): number {
  const length = Math.max(word.length, name.length)
  return length < 3 ? 0 : length < 6 ? 1 : length < 10 ? 2 : 3
}

/** `preview-12` and `preview-13` are different names, not misspellings of each other. */
function isOtherNumber(word: string, name: string): boolean {
  const unnumbered = (text: string) => text.replaceAll(/[-_. ]*\d+/g, '')
  return word !== name && unnumbered(word) === unnumbered(name)
}

/** The number of characters that are wrong, missing, surplus, or swapped with the next one. */
function stepsBetween(word: string, name: string): number {
  if (isStart(word, name) || isStart(name, word)) return 1
  let [beforeLast, last]: [number[], number[]] = [[], Array.from({ length: name.length + 1 }, (_, index) => index)]
  for (let row = 1; row <= word.length; row++) {
    const next = [row]
    for (let column = 1; column <= name.length; column++) {
      const isSame = word[row - 1] === name[column - 1]
      const isSwapped =
        row > 1 && column > 1 && word[row - 1] === name[column - 2] && word[row - 2] === name[column - 1]
      next[column] = Math.min(
        at(last, column) + 1,
        at(next, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    ;[beforeLast, last] = [last, next]
  }
  return at(last, name.length)
}

/** `prod` matches `production`, but `preview` does not match `preview-of-ann`, which is a name of its own. */
const isStart = (short: string, long: string): boolean =>
  short.length >= MIN_START && long.startsWith(short) && /^\p{L}*$/u.test(long.slice(short.length))

const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY
