/**
 * Runs programs without a sandbox, where there is no bubblewrap: as the user of the job, or as the service's own. They
 * see the whole machine, so the service builds for a single account only.
 *
 * No mounts are made. A job's paths are translated to those of the machine: what would be mounted at /app is used at its real
 * path.
 */

import type { Engine, Job } from './engine.ts'
import type { Limiter } from './limits/index.ts'
import { LAUNCHER } from './process.ts'
import { startLimited } from './start-limited.ts'
import { checkTenant } from './users.ts'

export function openPlain(limiter: Limiter): Engine {
  return {
    isIsolating: false,
    limits: limiter.description,
    overlayMissing: 'there is no sandbox',
    description: 'no isolation',
    async start(job, onOutput) {
      const outside = withoutMounts({ ...job, user: checkTenant(job.user) })
      const command = [process.execPath, '--no-warnings', LAUNCHER]
      return startLimited({ limiter, command, spawn: { isSession: true } }, outside, onOutput)
    },
  }
}

/** The same job with the paths of this machine. */
export function withoutMounts(job: Job): Job {
  const byLength = job.mounts.toSorted((a, b) => b.to.length - a.to.length)
  const translate = (text: string): string =>
    byLength.reduce(
      (path, { from, to }) => path.replaceAll(new RegExp(`(^|[:=])${escapeRegExp(to)}(?=$|[/:])`, 'g'), `$1${from}`),
      text,
    )
  return {
    ...job,
    argv: job.argv.map(translate),
    cwd: translate(job.cwd),
    environment: Object.fromEntries(
      Object.entries(job.environment).map(([key, value]) => [key, OUR_PATHS.includes(key) ? translate(value) : value]),
    ),
  }
}

/** Variables that the service sets to paths. A tenant's values are left as they are, whatever they look like. */
const OUR_PATHS = [
  'PATH',
  'HOME',
  'TMPDIR',
  'npm_config_cache',
  'npm_config_store_dir',
  'pnpm_config_store_dir',
  'YARN_CACHE_FOLDER',
  'BUN_INSTALL_CACHE_DIR',
  'NODE_COMPILE_CACHE',
]

const escapeRegExp = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
