/** What the registry has, remembered for a while: builds come in bursts, and versions do not. */
import type { Clock } from '../../base/index.ts'
import type { Registry } from './registry.ts'
import { createShared } from './shared.ts'

const KNOWN_MS = 10 * 60_000
/** A registry that did not answer is left alone, so that the next builds need not wait for it as long as this one did. */
const SILENT_MS = 30_000
const ANSWER_MS = 60_000

type Answer<T> = { value: T } | { error: unknown }

/** The versions of each package. */
export const createLists = ({ registry, clock }: { registry: Pick<Registry, 'versions'>; clock: Clock }) =>
  createRemembered((name, signal) => registry.versions(name, signal), clock)

export type Lists = ReturnType<typeof createLists>

/** Answers about packages, by their names. */
export function createRemembered<T>(question: (name: string, signal: AbortSignal) => Promise<T>, clock: Clock) {
  const remembered = new Map<string, { answer: Answer<T>; until: number }>()
  const questions = createShared<Answer<T>>()

  async function ask(name: string, signal: AbortSignal): Promise<Answer<T>> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
    const answer: Answer<T> = await question(name, limited).then(
      (value) => ({ value }),
      (error) => ({ error }),
    )
    // That nobody waits any more says nothing about the registry.
    if (!signal.aborted) {
      const until = clock.now() + ('value' in answer ? KNOWN_MS : SILENT_MS)
      remembered.set(name, { answer, until })
    }
    return answer
  }

  return {
    async of(name: string, signal: AbortSignal): Promise<T> {
      const known = remembered.get(name)
      const answer =
        known && known.until > clock.now()
          ? known.answer
          : await questions.join(name, signal, (left) => ask(name, left))
      if ('error' in answer) throw answer.error
      return answer.value
    },
  }
}
