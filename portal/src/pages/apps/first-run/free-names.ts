const MAX_TRIES = 9

/** `example`, `example-2` and so on: the first one may be taken. */
export const freeNames = (name: string): string[] =>
  Array.from({ length: MAX_TRIES }, (_, at) => (at === 0 ? name : `${name}-${at + 1}`))
