/**
 * Whether a failed build that used caches is worth a second attempt without them. For a failure of the source, of the network
 * or of a limit a second attempt would only delay the report.
 */
import { BUILD_FAILURES, type Problem } from '../../contract/index.ts'
import type { Plan } from '../plan/plan.ts'
import { parsePackageJson } from '../plan/project/package-json.ts'
import type { CacheUse } from '../run/caches.ts'
import { textIn } from '../run/untrusted-folder.ts'
import type { Workspace } from '../run/workspace.ts'

type BuildFailure = (typeof BUILD_FAILURES)[number]

/** `MODULE`: only where the module is a package that the app depends on. */
const CACHES_MAY_CAUSE: Record<BuildFailure, boolean | 'MODULE'> = {
  PLAN_FAILED: false,
  TOOL_NOT_AVAILABLE: false,
  NODE_VERSION_WRONG: false,
  INSTALL_FAILED: true,
  LOCKFILE_MISMATCH: false,
  CHECKSUM_MISMATCH: true,
  DEPENDENCY_NOT_FOUND: true,
  DEPENDENCY_CONFLICT: false,
  REGISTRY_REFUSED: false,
  REGISTRY_UNREACHABLE: false,
  INSTALL_SCRIPT_FAILED: true,
  NATIVE_PACKAGE_MISSING: true,
  BUILD_SCRIPT_FAILED: true,
  COMMAND_NOT_FOUND: false,
  MODULE_NOT_FOUND: 'MODULE',
  SYNTAX_ERROR: false,
  TYPE_ERROR: false,
  LINT_ERROR: false,
  CMS_UNREACHABLE: false,
  DOWNLOAD_FAILED: false,
  OUT_OF_MEMORY: false,
  TOO_MANY_PROCESSES: false,
  DISK_LIMIT: true,
  DISK_FULL: false,
  QUOTA_EXCEEDED: false,
  BUILD_TIMEOUT: false,
  NO_OUTPUT: true,
  OUTPUT_TOO_LARGE: false,
  IMAGE_REGISTRY_FAILED: false,
  START_CRASHED: false,
  START_TIMEOUT: false,
  PORT_NOT_BOUND: false,
  SUSPICIOUS_OUTPUT: false,
  CHECK_FAILED: false,
}

const CACHES_IN_WORDS: Record<CacheUse['cache'], string> = {
  packages: 'installed packages',
  store: 'the store of the package manager',
  compile: 'compiler caches',
}

/** Why there is a second attempt: the caches that the first one used. Undefined where it used none. */
export function reasonToRetry(uses: readonly CacheUse[]): string | undefined {
  const used = uses.filter(({ state }) => state === 'HIT').map(({ cache }) => CACHES_IN_WORDS[cache])
  if (used.length === 0) return undefined
  return `It is tried once more without caches, because it used ${used.join(' and ')} of earlier builds.`
}

const MANIFEST_MAX_BYTES = 1024 * 1024

/** Whether caches of earlier builds may be the cause. `source` is the unpacked archive. */
export async function mayBeCausedByCaches(
  { reason, metadata }: Problem,
  { source }: Pick<Workspace, 'source'>,
  { rootDirectory, install }: Pick<Plan, 'rootDirectory' | 'install'>,
): Promise<boolean> {
  const verdict = isBuildFailure(reason) && CACHES_MAY_CAUSE[reason]
  if (verdict !== 'MODULE') return verdict
  const folders = new Set([rootDirectory, install?.folder ?? rootDirectory])
  for (const folder of folders) {
    const path = folder === '' ? 'package.json' : `${folder}/package.json`
    if (dependsOn(await textIn(source, path, MANIFEST_MAX_BYTES), metadata.module ?? '')) return true
  }
  return false
}

const isBuildFailure = (reason: string): reason is BuildFailure =>
  (BUILD_FAILURES as readonly string[]).includes(reason)

/** Files and aliases of the app are not among the dependencies. */
function dependsOn(manifest: string | undefined, module: string): boolean {
  const parts = module.split('/')
  const name = parts.slice(0, module.startsWith('@') ? 2 : 1).join('/')
  // Planning has already refused a manifest that cannot be parsed.
  return manifest !== undefined && Object.hasOwn(parsePackageJson(manifest, 'package.json').dependencies, name)
}
