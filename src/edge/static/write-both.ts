/** The manifest of a static output, and the list of its immutable files. */
import { immutableFilesOf, writeImmutableList } from './earlier/immutable-list.ts'
import { createManifest, type ManifestOptions, writeManifest } from './manifest.ts'

/** Lists the files of a folder, compresses them into the other one, and writes manifest and list there. */
export async function writeBoth(folder: string, variantsFolder: string, options: ManifestOptions): Promise<void> {
  const manifest = await createManifest(folder, variantsFolder, options)
  const immutable = immutableFilesOf(manifest)
  if (immutable.size > 0) await writeImmutableList(variantsFolder, immutable)
  await writeManifest(variantsFolder, manifest)
}
