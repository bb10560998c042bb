/** Collections of garbage that V8 would put off, or never make. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How often a process looks whether it has little to do: less than this part of a processor. */
const LOOK_MS = 1500
const LITTLE = 0.1

type Collect = (options: { type: 'minor' } | { type: 'major'; flavor: 'last-resort' }) => void

let collect: Collect | undefined

/**
 * Frees unused buffers now. V8 counts objects and not the size of the memory behind them, so a stream of half a
 * gigabyte leaves 60 MB and more of read buffers unfreed (measured: 80 MB without this, 25 with it). A young collection
 * takes well under a millisecond.
 */
export function freeBuffers() {
  collect ??= collector()
  collect({ type: 'minor' })
}

/**
 * Frees what a start leaves behind, once, as soon as the process has little to do: it would keep it for as long as it is idle
 * (measured: 21 MB of 106 in four processes). Nothing else runs meanwhile, for 25 ms and more.
 */
export function freeAfterStart() {
  let before = process.cpuUsage()
  const looking = setInterval(() => {
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    if ((user + system) / 1000 > LITTLE * LOOK_MS) return
    clearInterval(looking)
    // It is not kept: a realm of its own belongs to it.
    collector()({ type: 'major', flavor: 'last-resort' })
  }, LOOK_MS)
  looking.unref()
}

function collector(): Collect {
  setFlagsFromString('--expose-gc')
  const found = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return found
}
