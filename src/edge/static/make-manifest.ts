/** Makes manifests and lists of files for the control process, without blocking it. */
import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { absent } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'
import { type EarlierIndex, writeEarlierIndex } from './earlier/earlier-index.ts'
import { type AssetFolder, listAssets, writeImmutableList } from './earlier/immutable-list.ts'
import { type ManifestOptions, TooLargeToList } from './manifest.ts'
import { inManifestThread, type Outcome } from './manifest-thread.ts'
import { writeBoth } from './write-both.ts'

/** So few are listed in a few milliseconds, which is less than a thread takes to start. */
const FEW_ENTRIES = 2000
/** Lists of so few bytes together have about two thousand entries. */
const FEW_BYTES = 512 * 1024

/** Lists the files of a static output, compresses them into the other folder, and writes manifest and list there. */
export async function makeManifest(folder: string, variantsFolder: string, options: ManifestOptions): Promise<void> {
  const outcome = (await hasFewEntries([folder]))
    ? await attempt(() => writeBoth(folder, variantsFolder, options))
    : await inManifestThread({ kind: 'make', folder, variantsFolder, options })
  check(outcome)
}

/** The same for the immutable files in these folders of a server's output, of which there is a list alone. */
export async function makeAssetList(
  folder: string,
  variantsFolder: string,
  assets: readonly AssetFolder[],
): Promise<void> {
  const outcome = (await hasFewEntries(assets.map((asset) => join(folder, asset.folder))))
    ? await attempt(async () => writeImmutableList(variantsFolder, await listAssets(folder, variantsFolder, assets)))
    : await inManifestThread({ kind: 'list', folder, variantsFolder, assets })
  check(outcome)
}

/** Writes the index of the files of earlier deployments. Resolves to whether there are any. */
export async function makeEarlierIndex(index: EarlierIndex): Promise<boolean> {
  const lists = [...(index.live === null ? [] : [index.live]), ...index.earlier.map(({ list }) => list)]
  const sizes = await Promise.all(lists.map(async (list) => (await stat(list).catch(absent))?.size ?? 0))
  if (sizes.reduce((sum, size) => sum + size, 0) <= FEW_BYTES) return (await writeEarlierIndex(index)) > 0
  const outcome = await inManifestThread({ kind: 'index', index })
  check(outcome)
  return outcome.kind === 'done' && (outcome.count ?? 0) > 0
}

async function attempt(make: () => Promise<void>): Promise<Outcome> {
  try {
    await make()
    return { kind: 'done' }
  } catch (error) {
    if (error instanceof TooLargeToList) return { kind: 'too-large', message: error.message }
    throw error
  }
}

function check(outcome: Outcome) {
  if (outcome.kind === 'too-large') throw new Problem('OUTPUT_TOO_LARGE', outcome.message)
  if (outcome.kind === 'failed') throw new Error(outcome.message)
}

async function hasFewEntries(tops: readonly string[]): Promise<boolean> {
  const folders = [...tops]
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
