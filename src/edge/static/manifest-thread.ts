/** Makes or converts a manifest in a thread. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { EarlierIndex } from './earlier/earlier-index.ts'
import type { AssetFolder } from './earlier/immutable-list.ts'
import type { ManifestOptions } from './manifest.ts'

/** The file name of the earlier format, which was a single JSON text. */
export const LEGACY_MANIFEST_NAME = 'manifest.json'

export type Task =
  /** Lists the files of a folder, compresses them into the other one, and writes the manifest there. */
  | { kind: 'make'; folder: string; variantsFolder: string; options: ManifestOptions }
  /** Lists the immutable files in these folders of a server's output, compresses them, and writes the list there. */
  | { kind: 'list'; folder: string; variantsFolder: string; assets: readonly AssetFolder[] }
  /** Writes the index of the files of earlier deployments. */
  | { kind: 'index'; index: EarlierIndex }
  /** Writes the manifest of an output that has only one of the earlier format. */
  | { kind: 'convert'; variantsFolder: string }

export type Outcome =
  /** `count`: of the files in an index. */
  | { kind: 'done'; count?: number }
  /** The output exceeds a limit, which the message names. */
  | { kind: 'too-large'; message: string }
  | { kind: 'failed'; message: string }

/** Beside this file: TypeScript in a checkout, compiled in a package. */
const PROGRAM = new URL(`./manifest-worker${extname(import.meta.url)}`, import.meta.url)
/** Enough for the maximum number of files and length of paths of an output. */
const HEAP_MEGABYTES = 1024

/** When the thread runs out of memory, only the thread ends. */
export function inManifestThread(task: Task): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(PROGRAM, {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    })
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the thread ended before its work did')))
  })
}
