/** Limits of the service, as the settings give them. */
import { type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS } from '../archives/index.ts'
import type { Ceilings } from '../contract/index.ts'
import type { Config } from '../settings.ts'

export const archiveLimits = ({ archiveBytes, archiveEntries, unpackedBytes, uploadStall }: Config): ArchiveLimits => ({
  ...DEFAULT_ARCHIVE_LIMITS,
  archiveBytes,
  entries: archiveEntries,
  // More entries have more names.
  namesBytes: DEFAULT_ARCHIVE_LIMITS.namesBytes * Math.max(1, archiveEntries / DEFAULT_ARCHIVE_LIMITS.entries),
  unpackedBytes,
  stallMs: uploadStall * 1000,
})

/** How many of each an account may have. */
export const ceilingsOf = (config: Config): Ceilings => ({
  APPS: config.accountApps,
  ENVIRONMENTS: config.accountEnvironments,
  DOMAINS: config.accountDomains,
  CREDENTIALS: config.accountCredentials,
  AWAKE_APPS: config.accountAwakeApps,
  APP_MEMORY: config.accountAppMemory,
  RUNNING_BUILDS: config.accountBuilds,
})
