/**
 * The process that brings the files of static sites to a machine with edges and no control process. It has the registry's
 * credentials, which edges, who read what visitors send, have not.
 */
import { createLog, processName, Secret, systemClock } from '../base/index.ts'
import { createOutputs, DEFAULT_OUTPUT_LIMITS } from '../builds/index.ts'
import { PROTOCOL } from '../channel/index.ts'
import { filesIn } from '../data-files.ts'
import { openSiteImages } from '../images/index.ts'
import type { Config } from '../settings.ts'
import { createSiteStore, serveSiteFiles } from '../static-files/index.ts'
import { version } from '../version.ts'
import { createChildLife } from './child.ts'

/** Given here, as no secret is in its environment. */
export type FilesBegin = { registryPassword: string | undefined }

export async function runFilesProcess(config: Config) {
  const life = createChildLife<FilesBegin, null>({ endsAtSigterm: true })
  const { registryPassword } = await life.begin
  const { dataDir, registry = '', outputFiles, edgeFiles: maxBytes } = config
  const clock = systemClock
  const log = createLog(config.logLevel, config.logFormat)
  const files = filesIn(dataDir)
  const limits = { files: outputFiles, bytes: Math.min(DEFAULT_OUTPUT_LIMITS.bytes, maxBytes) }
  const images = openSiteImages({
    clock,
    settings: { ...config, registry, registryPassword: registryPassword ? new Secret(registryPassword) : undefined },
    folder: files.images,
    limits,
    userAgent: `headland/${version}`,
  })
  const store = createSiteStore({
    clock,
    log,
    outputs: createOutputs({ folder: files.outputs, limits }),
    images,
    maxBytes,
  })
  await store.open()
  const greeting = { protocol: PROTOCOL, role: 'files', process: processName(), version }
  const socket = await serveSiteFiles({ path: files.filesSocket, greeting, log, store })
  life.ready(null)
  await life.stopRequested
  await socket.close()
  await store.stop()
  images.close()
  life.leave()
}
