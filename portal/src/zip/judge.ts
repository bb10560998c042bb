/** Asks the worker which names of a folder its rules leave out. One request at a time. */
import type { Listing } from './rules.ts'
import type { FromRules } from './rules.worker.ts'
import type { Judge } from './select.ts'
import { startWorker } from './workers.ts'

const TIMEOUT_MS = 20_000

export function createJudge(signal: AbortSignal): Judge {
  const worker = startWorker('rules')
  return {
    judge: (listing: Listing) =>
      new Promise<boolean[]>((resolve, reject) => {
        const isTooSlow = `The rules in ${listing.folder || 'the folder'} take too long to read. Make .gitignore and .headlandignore simpler, or drop a zip.`
        const timer = setTimeout(() => reject(new Error(isTooSlow)), TIMEOUT_MS)
        const isOver = () => clearTimeout(timer)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        worker.onerror = (event) => reject(new Error(event.message || 'The browser could not read the rules.'))
        worker.onmessage = ({ data }: MessageEvent<FromRules>) => {
          isOver()
          if (data.kind === 'judged') resolve(data.leftOut)
          else reject(new Error(`The rules could not be read: ${data.message}`))
        }
        worker.postMessage(listing)
      }),
    end: () => worker.terminate(),
  }
}
