/**
 * Frees unused buffers now. V8 counts objects and not the size of the memory behind them, so a stream of half a
 * gigabyte leaves 60 MB and more of read buffers unfreed (measured: 80 MB without this, 25 with it). A young collection
 * takes well under a millisecond.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: ((options: { type: 'minor' }) => void) | undefined

export function freeBuffers() {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as typeof collect
    setFlagsFromString('--no-expose-gc')
  }
  collect?.({ type: 'minor' })
}
