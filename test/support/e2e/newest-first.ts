/** For services that are started again on the data of one before: the newest ends first, and the folder last. */
import type { Scope } from '../folder.ts'

export function newestFirst({ after }: Scope): Scope {
  const ends: (() => unknown)[] = []
  after(async () => {
    for (const end of ends) await end()
  })
  return { after: (end) => void ends.unshift(end) }
}
