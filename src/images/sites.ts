/** Gets the files of static sites from a registry, on a machine that has no database. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, type Clock, removeTree } from '../base/index.ts'
import { LAYER_TIME, LayerBroken } from './layers/entry.ts'
import type { LayerLimits } from './layers/unpack.ts'
import { commandIn, configIn } from './manifest.ts'
import { placeIn } from './names.ts'
import { openRegistryClient, type RegistrySettings } from './open.ts'
import { RULES_FILE, type ServedFiles, servedFilesOf } from './publish.ts'
import { createPull } from './pull.ts'
import type { Waiting } from './registry/answers.ts'

type Parts = {
  clock: Clock
  settings: RegistrySettings
  /** For layers that are being read. */
  folder: string
  limits: LayerLimits
  userAgent: string
}

export type PulledSite = ServedFiles & {
  /** Of the layers as they are stored. */
  bytes: number
  /** Redirects and headers, as JSON; undefined where the site has none. */
  rules: string | undefined
}

/** Only readable: nothing of an output depends on the time or the owner of its files. */
const AS_SERVED = { user: undefined, time: LAYER_TIME * 1000 }

export function openSiteImages({ clock, settings, folder, limits, userAgent }: Parts) {
  const client = openRegistryClient(settings, userAgent, clock)
  const { inScratch, pullManifest, pullLayers } = createPull({ client, folder, limits })

  return {
    /**
     * Writes the files of a site into a new folder. The image is looked for in the registry of the settings, which may have
     * another name here than in the reference.
     */
    pull: (reference: string, files: string, waiting: Waiting = {}): Promise<PulledSite> =>
      inScratch(async (scratch) => {
        const place = placeIn(reference)
        const manifest = await pullManifest(place, waiting)
        const config = { ...configIn(manifest), file: join(scratch, 'config') }
        await client.pullBlob(place.repository, config, waiting)
        const served = servedFilesOf(commandIn(await readFile(config.file)))
        if (!served) throw new LayerBroken('it is not that of a static site')
        const rules = join(scratch, 'rules')
        const wanted = [
          { kind: 'files' as const, folder: files },
          { kind: 'rules' as const, folder: rules },
        ]
        const { bytes } = await pullLayers(place, manifest, wanted, { ...AS_SERVED, ...waiting })
        return { ...served, bytes, rules: await readFile(join(rules, RULES_FILE), 'utf8').catch(absent) }
      }),

    /** Removes what a dead process left. Only for the start of the process. */
    sweep: (): Promise<void> => removeTree(folder),

    close: () => client.close(),
  }
}

export type SiteImages = ReturnType<typeof openSiteImages>
