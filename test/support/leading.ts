/** The term of a process that has the database for itself, as the tests of one module do. */
import type { Term } from '../../src/storage/index.ts'

export const LEADING: Term = {
  number: 1,
  signal: new AbortController().signal,
  isOver: () => false,
  check: async () => undefined,
}
