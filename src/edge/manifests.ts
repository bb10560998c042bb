/**
 * The manifests that are in use. One is read at the first request for its deployment and forgotten when others were used
 * since and the files of all are too many: an environment that nobody visits costs no memory.
 */
import { readFile } from 'node:fs/promises'
// Types alone: what makes manifests needs compression and hashing, which the edge process does not.
import type { StaticFile, StaticManifest } from './manifest.ts'

export type LoadedManifest = Omit<StaticManifest, 'files'> & { files: ReadonlyMap<string, StaticFile> }

export function createManifests(mostFiles: number) {
  /** In the order of their last use. */
  const loaded = new Map<string, LoadedManifest>()
  const loading = new Map<string, Promise<LoadedManifest>>()
  let fileCount = 0

  async function load(path: string): Promise<LoadedManifest> {
    try {
      // A manifest that was written before there were base paths has none.
      const { files, basePath = '', ...rest }: StaticManifest = JSON.parse(await readFile(path, 'utf8'))
      const manifest = { ...rest, basePath, files: new Map(Object.entries(files)) }
      loaded.set(path, manifest)
      fileCount += manifest.files.size
      forgetOldest(manifest)
      return manifest
    } finally {
      loading.delete(path)
    }
  }

  function forgetOldest(newest: LoadedManifest) {
    for (const [path, manifest] of loaded) {
      // The newest stays, however large: it is being used.
      if (fileCount <= mostFiles || manifest === newest) return
      loaded.delete(path)
      fileCount -= manifest.files.size
    }
  }

  return {
    /** A manifest at a path never changes, so it is read once. Requests that come meanwhile share the reading. */
    get(path: string): LoadedManifest | Promise<LoadedManifest> {
      const known = loaded.get(path)
      if (known) {
        loaded.delete(path)
        loaded.set(path, known)
        return known
      }
      const reading = loading.get(path) ?? load(path)
      loading.set(path, reading)
      return reading
    },
    count: () => ({ manifests: loaded.size, files: fileCount }),
  }
}
