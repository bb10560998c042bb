/** Whether the page is visible. A tab that was hidden for a while closes its connection. */
import type { Attention } from './follow.ts'

const HIDDEN_MS = 20_000

export function watchAttention(over: AbortSignal): Attention {
  let looking = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined

  function look() {
    clearTimeout(timer)
    if (document.hidden) timer = setTimeout(() => looking.abort(), HIDDEN_MS)
  }
  look()
  document.addEventListener('visibilitychange', look, { signal: over })
  over.addEventListener('abort', () => clearTimeout(timer), { once: true })

  return {
    lost() {
      if (looking.signal.aborted) looking = new AbortController()
      look()
      return looking.signal
    },
    present: () =>
      new Promise((resolve) => {
        const done = () => {
          if (document.hidden && !over.aborted) return
          document.removeEventListener('visibilitychange', done)
          resolve()
        }
        document.addEventListener('visibilitychange', done)
        over.addEventListener('abort', done, { once: true })
        done()
      }),
  }
}
