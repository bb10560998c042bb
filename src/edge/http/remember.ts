/** Memoization: headers repeat, so what is computed from their text is computed once. */

/** Longer texts hardly repeat, so they are not kept. */
const TEXT_LENGTH = 512

/** `work` must be pure, and callers must not modify its result. Beyond `max` results, all are forgotten. */
export function remembering<T>(work: (text: string) => T, max = 1000): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = work(text)
    if (text.length > TEXT_LENGTH) return made
    if (known.size >= max) known.clear()
    known.set(text, made)
    return made
  }
}

/** The name of a header in lower case. */
export const toLower = remembering((name) => name.toLowerCase())
