/** Asks the worker for a zip, and tells how far it is. */
import type { Chosen } from './read-drop.ts'
import type { FromWorker } from './zip.worker.ts'
import workerUrl from './zip.worker.ts?worker&url'

type Options = { signal: AbortSignal; onProgress(share: number): void }

export function zipFiles(files: readonly Chosen[], { signal, onProgress }: Options): Promise<Blob> {
  const total = files.reduce((sum, { file }) => sum + file.size, 0)
  const worker = new Worker(trusted(workerUrl), { type: 'module' })
  return new Promise<Blob>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    worker.onerror = (event) => reject(new Error(event.message || 'The browser could not make the archive.'))
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === 'done') resolve(data.zip)
      else if (data.kind === 'failed') reject(new Error(`The folder could not be read: ${data.message}`))
      else onProgress(total === 0 ? 1 : data.bytes / total)
    }
    worker.postMessage(files)
  }).finally(() => worker.terminate())
}

type ScriptUrlPolicy = { createScriptURL(url: string): string }
type Policies = { createPolicy(name: string, rules: ScriptUrlPolicy): ScriptUrlPolicy }

/**
 * The page's policy takes no plain text as the address of a script (Trusted Types). This address is a constant of the
 * build; any other is refused. Browsers without the rule take the text itself.
 */
const policies = (globalThis as unknown as { trustedTypes?: Policies }).trustedTypes
const policy = policies?.createPolicy('headland', {
  createScriptURL(url) {
    if (url !== workerUrl) throw new TypeError(`${url} is no script of the portal`)
    return url
  },
})
const trusted = (url: string): string => policy?.createScriptURL(url) ?? url
