/** Makes the manifest of an output for the control process, without blocking it. */
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../../contract/index.ts'
import { createManifest, type ManifestOptions, TooLargeToList, writeManifest } from './manifest.ts'
import { inManifestThread, type Outcome } from './manifest-thread.ts'

/** So few are listed in a few milliseconds, which is less than a thread takes to start. */
const FEW_ENTRIES = 2000

/** Lists the files of a folder, compresses them into the other one, and writes the manifest there. */
export async function makeManifest(folder: string, variantsFolder: string, options: ManifestOptions): Promise<void> {
  const outcome = (await hasFewEntries(folder))
    ? await makeHere(folder, variantsFolder, options)
    : await inManifestThread({ kind: 'make', folder, variantsFolder, options })
  if (outcome.kind === 'too-large') throw new Problem('OUTPUT_TOO_LARGE', outcome.message)
  if (outcome.kind === 'failed') throw new Error(outcome.message)
}

async function makeHere(folder: string, variantsFolder: string, options: ManifestOptions): Promise<Outcome> {
  try {
    await writeManifest(variantsFolder, await createManifest(folder, variantsFolder, options))
    return { kind: 'done' }
  } catch (error) {
    if (error instanceof TooLargeToList) return { kind: 'too-large', message: error.message }
    throw error
  }
}

async function hasFewEntries(top: string): Promise<boolean> {
  const folders = [top]
  let count = 0
  // The loop appends to it.
  for (const folder of folders) {
    for await (const entry of await opendir(folder)) {
      if (++count > FEW_ENTRIES) return false
      // A name that is not valid UTF-8 cannot be opened, and is not listed.
      if (entry.isDirectory() && !entry.name.includes('\u{fffd}')) folders.push(join(folder, entry.name))
    }
  }
  return true
}
