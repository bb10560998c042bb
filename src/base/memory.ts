/**
 * Frees buffers that nobody uses any more, now. V8 looks at how many objects there are and not at how large the memory
 * behind them is, so a stream of half a gigabyte lets 60 MB and more of read buffers lie about (measured: 80 MB without
 * this, 25 with it). A young collection takes well under a millisecond.
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
