/** Headers repeat: what is worked out from the same text again and again is worked out once. */

/** Longer ones hardly repeat, and would be held for nothing. */
const TEXT_LENGTH = 512

/** `work` gives the same for the same text, and nobody changes what it gave. Beyond so many, all are forgotten. */
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
