/**
 * The number of the newest purge of each environment. An app with a cache of its own is sent it with every request, and asks the
 * service what was revalidated when it is a higher one than before.
 */
import type { ServerTarget } from '../routes.ts'

export function createNewestPurges() {
  const newest = new Map<string, number>()
  /** Of environments that had none since. */
  let before = 0

  const numberOf = (environment: string): number => newest.get(environment) ?? before

  return {
    /** Which purges there were up to this number is not known. */
    begin(number: number) {
      before = number
      newest.clear()
    },
    add(environment: string, number: number) {
      newest.set(environment, Math.max(numberOf(environment), number))
    },
    forget: (environment: string) => newest.delete(environment),
    /** Undefined for an app that is not to be told. */
    of: ({ environment, isToldPurges }: Pick<ServerTarget, 'environment' | 'isToldPurges'>): number | undefined =>
      isToldPurges ? numberOf(environment) : undefined,
  }
}

export type NewestPurges = ReturnType<typeof createNewestPurges>
