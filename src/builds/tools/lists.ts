/** Which versions the registry has, remembered for a while: builds come in bursts, and versions do not. */
import type { Clock } from '../../base/index.ts'
import type { Registry } from './registry.ts'
import { createShared } from './shared.ts'

const KNOWN_MS = 10 * 60_000
/** A registry that did not answer is left alone, so that the next builds need not wait for it as long as this one did. */
const SILENT_MS = 30_000
const ANSWER_MS = 60_000

type Answer = { versions: string[] } | { error: unknown }

export function createLists({ registry, clock }: { registry: Pick<Registry, 'versions'>; clock: Clock }) {
  const remembered = new Map<string, { answer: Answer; until: number }>()
  const questions = createShared<Answer>()

  async function ask(name: string, signal: AbortSignal): Promise<Answer> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
    const answer: Answer = await registry.versions(name, limited).then(
      (versions) => ({ versions }),
      (error) => ({ error }),
    )
    // That nobody waits any more says nothing about the registry.
    if (!signal.aborted) {
      const until = clock.now() + ('versions' in answer ? KNOWN_MS : SILENT_MS)
      remembered.set(name, { answer, until })
    }
    return answer
  }

  return {
    async of(name: string, signal: AbortSignal): Promise<string[]> {
      const known = remembered.get(name)
      const answer =
        known && known.until > clock.now()
          ? known.answer
          : await questions.join(name, signal, (left) => ask(name, left))
      if ('error' in answer) throw answer.error
      return answer.versions
    },
  }
}

export type Lists = ReturnType<typeof createLists>
