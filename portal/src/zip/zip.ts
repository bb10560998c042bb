/** Asks the worker for a zip, and reports the progress. */
import type { Chosen } from './select.ts'
import { startWorker } from './workers.ts'
import type { FromZip, ToZip } from './zip.worker.ts'

type Options = { signal: AbortSignal; onProgress(share: number): void }

/** Posting many files at once would block the page. */
const HANDED_AT_ONCE = 1000

export function zipFiles(files: readonly Chosen[], { signal, onProgress }: Options): Promise<Blob> {
  const total = files.reduce((sum, { file }) => sum + file.size, 0)
  const worker = startWorker('zip')
  const hand = (message: ToZip) => worker.postMessage(message)
  return new Promise<Blob>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    worker.onerror = (event) => reject(new Error(event.message || 'The browser could not make the archive.'))
    worker.onmessage = ({ data }: MessageEvent<FromZip>) => {
      if (data.kind === 'done') resolve(data.zip)
      else if (data.kind === 'failed') reject(new Error(`The folder could not be read: ${data.message}`))
      else onProgress(total === 0 ? 1 : data.bytes / total)
    }
    handOver().catch(reject)
  }).finally(() => worker.terminate())

  async function handOver() {
    for (let at = 0; at < files.length && !signal.aborted; at += HANDED_AT_ONCE) {
      hand({ kind: 'files', files: files.slice(at, at + HANDED_AT_ONCE) })
      await new Promise((resolve) => setTimeout(resolve))
    }
    hand({ kind: 'zip' })
  }
}
