/**
 * The thread in which manifests and lists are made, and manifests of the earlier format converted: a site may have hundreds of
 * thousands of files, and neither the control process nor the edge may be blocked for that long.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { writeEarlierIndex } from './earlier/earlier-index.ts'
import { listAssets, writeImmutableList } from './earlier/immutable-list.ts'
import { TooLargeToList, writeManifest } from './manifest.ts'
import { LEGACY_MANIFEST_NAME, type Outcome, type Task } from './manifest-thread.ts'
import type { StaticManifest } from './types.ts'
import { writeBoth } from './write-both.ts'

async function work(task: Task): Promise<number | undefined> {
  switch (task.kind) {
    case 'make':
      return void (await writeBoth(task.folder, task.variantsFolder, task.options))
    case 'list': {
      const { folder, variantsFolder, assets } = task
      return void (await writeImmutableList(variantsFolder, await listAssets(folder, variantsFolder, assets)))
    }
    case 'index':
      return writeEarlierIndex(task.index)
    case 'convert': {
      const text = await readFile(join(task.variantsFolder, LEGACY_MANIFEST_NAME), 'utf8')
      // A manifest from before base paths were supported has none.
      const manifest: StaticManifest = { basePath: '', ...JSON.parse(text) }
      return void (await writeManifest(task.variantsFolder, manifest))
    }
  }
}

const toDone = (count: number | undefined): Outcome => ({ kind: 'done', ...(count === undefined ? {} : { count }) })

function toOutcome(error: unknown): Outcome {
  if (error instanceof TooLargeToList) return { kind: 'too-large', message: error.message }
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
}

parentPort?.postMessage(await work(workerData as Task).then(toDone, toOutcome))
