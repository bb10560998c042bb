/**
 * Limits how many bytes of an environment's responses are read per turn. Without it, an app that sends an endless
 * response to fast clients would occupy the edge completely: each environment gets its share of a turn, and continues
 * in the next one.
 */

export type Pace = {
  /** Whether the environment has used up its share of this turn; `goOn` is then called at the next one. */
  isSpent(environment: string, bytes: number, goOn: () => void): boolean
}

type Parts = { bytesPerTurn: number; turnMs: number }

export function createPace({ bytesPerTurn, turnMs }: Parts): Pace {
  const spent = new Map<string, number>()
  let waiting: (() => void)[] = []
  let isTurning = false

  function nextTurn() {
    isTurning = false
    spent.clear()
    const all = waiting
    waiting = []
    for (const goOn of all) goOn()
  }

  return {
    isSpent(environment, bytes, goOn) {
      if (!isTurning) {
        isTurning = true
        setTimeout(nextTurn, turnMs).unref()
      }
      const now = (spent.get(environment) ?? 0) + bytes
      spent.set(environment, now)
      if (now < bytesPerTurn) return false
      waiting.push(goOn)
      return true
    },
  }
}
