/**
 * The thread in which manifests are made, and those of the earlier format converted: a site may have hundreds of
 * thousands of files, and neither the control process nor the edge may be blocked for that long.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { createManifest, TooLargeToList, writeManifest } from './manifest.ts'
import { LEGACY_MANIFEST_NAME, type Outcome, type Task } from './manifest-thread.ts'
import type { StaticManifest } from './types.ts'

async function work(task: Task): Promise<void> {
  if (task.kind === 'make') {
    const { folder, variantsFolder, options } = task
    return void (await writeManifest(variantsFolder, await createManifest(folder, variantsFolder, options)))
  }
  const text = await readFile(join(task.variantsFolder, LEGACY_MANIFEST_NAME), 'utf8')
  // A manifest from before base paths were supported has none.
  const manifest: StaticManifest = { basePath: '', ...JSON.parse(text) }
  await writeManifest(task.variantsFolder, manifest)
}

function toOutcome(error: unknown): Outcome {
  if (error instanceof TooLargeToList) return { kind: 'too-large', message: error.message }
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
}

parentPort?.postMessage(await work(workerData as Task).then((): Outcome => ({ kind: 'done' }), toOutcome))
