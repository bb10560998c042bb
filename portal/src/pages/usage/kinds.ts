/** Names of the kinds of files on the disk. */
import type { UsageKind } from '../../api/types.ts'

export const KIND_WORDS: Record<UsageKind, { word: string; about: string }> = {
  ARCHIVES: { word: 'Archives', about: 'uploads that a rebuild may start from' },
  REPOSITORIES: { word: 'Repositories', about: 'what was pushed with git, of the whole app' },
  SNAPSHOTS: { word: 'Content snapshots', about: 'what the CMS answered to builds' },
  OUTPUTS: { word: 'Outputs', about: 'of deployments that can be made live' },
  PACKAGES: { word: 'Packages', about: 'installed for builds and running apps' },
  CACHES: { word: 'Build caches', about: 'make the next build quicker' },
  LOGS: { word: 'Logs', about: 'of builds and of running apps' },
  RUNS: { word: 'Runs', about: 'what apps write and keep while they run' },
}
