/** Long work in small slices, between which the event loop handles other work. */
import { setImmediate } from 'node:timers/promises'

const SLICE_MS = 8
const STEPS_BETWEEN_LOOKS = 1024

export function createSlices() {
  let steps = 0
  let end = performance.now() + SLICE_MS
  return {
    /** To be called after each small step. If it returns true, `rest` must be awaited. */
    isOver(): boolean {
      steps += 1
      return steps % STEPS_BETWEEN_LOOKS === 0 && performance.now() >= end
    },
    async rest() {
      await setImmediate()
      end = performance.now() + SLICE_MS
    },
  }
}
