/** A throttle: runs at once, then at most once in `ms`, and once after the last call. */
export function throttled(work: () => void, ms: number): { call(): void; stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isWanted = false

  function run() {
    isWanted = false
    work()
    timer = setTimeout(() => {
      timer = undefined
      if (isWanted) run()
    }, ms)
  }

  return {
    call() {
      if (timer === undefined) run()
      else isWanted = true
    },
    stop() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}
