/**
 * What an environment keeps, and what is discarded. Pure.
 *
 * Always kept are the live deployment, the one that was live before it, and the newest build of each of the last few archives
 * that were live, by the time when they last were: a rollback is for code, so rebuilds for new content must not push earlier
 * uploads out. Places that are left go to the other deployments that were live last. Kept as well are the newest held
 * deployment, those that an unfinished operation made or makes live, and those that still run. A build's output is kept while
 * one of its deployments is, and while the build is not over.
 */
import type { Deployment } from '../deployments/index.ts'

export type KnownDeployment = Pick<Deployment, 'id' | 'buildId' | 'state' | 'retireTime'> & {
  /** The archive of its build. */
  archive: string
  /** An unfinished operation made it, or makes it live. */
  isWanted: boolean
  /** It has a process, which may be draining. */
  isRunning: boolean
}

/** The oldest first. */
export type KnownBuild = { id: string; isOver: boolean; hasOutput: boolean; hasPackages: boolean }

type Kept = { deployment: string; because: 'LIVE' | 'WANTED' | 'RUNNING' | 'RECENT' | 'HELD' }
type Discarded = { deployment: string; because: 'OLD' | 'NEVER_LIVE' }

export type Decision = {
  keep: Kept[]
  discard: Discarded[]
  /** Builds that give up their output, and builds that give up their packages. */
  outputs: string[]
  packages: string[]
}

type Known = {
  liveDeployment: string | null
  deployments: readonly KnownDeployment[]
  builds: readonly KnownBuild[]
  keepDeployments: number
}

export function decide({ liveDeployment, deployments, builds, keepDeployments }: Known): Decision {
  const recent = recentOf(deployments, liveDeployment, keepDeployments)

  const held = deployments.filter(({ state }) => state === 'HELD').toSorted((a, b) => (a.id < b.id ? 1 : -1))[0]

  function reasonToKeep({ id, state, isWanted, isRunning }: KnownDeployment): Kept['because'] | undefined {
    if (id === liveDeployment || state === 'LIVE') return 'LIVE'
    if (isWanted) return 'WANTED'
    if (isRunning) return 'RUNNING'
    if (id === held?.id) return 'HELD'
    return recent.has(id) ? 'RECENT' : undefined
  }

  const [keep, discard]: [Kept[], Discarded[]] = [[], []]
  const needed = new Set<string>()
  for (const deployment of deployments) {
    const because = reasonToKeep(deployment)
    if (because === undefined) {
      discard.push({ deployment: deployment.id, because: deployment.state === 'RETIRED' ? 'OLD' : 'NEVER_LIVE' })
      continue
    }
    keep.push({ deployment: deployment.id, because })
    needed.add(deployment.buildId)
  }

  const spare = builds.filter(({ id, isOver }) => isOver && !needed.has(id))
  // After a build whose deployment did not start, the next one would have to install everything again.
  const lastWithPackages = builds.findLast(({ hasPackages }) => hasPackages)?.id
  return {
    keep,
    discard,
    outputs: spare.filter(({ hasOutput }) => hasOutput).map(({ id }) => id),
    packages: spare.filter(({ id, hasPackages }) => hasPackages && id !== lastWithPackages).map(({ id }) => id),
  }
}

/** Deployments that were live and are kept for a rollback. */
function recentOf(deployments: readonly KnownDeployment[], live: string | null, count: number): Set<string> {
  const retired = deployments
    .filter(({ id, state }) => state === 'RETIRED' && id !== live)
    .toSorted((a, b) => (b.retireTime ?? 0) - (a.retireTime ?? 0) || (a.id < b.id ? 1 : -1))
  const liveArchive = deployments.find(({ id }) => id === live)?.archive
  // A map keeps the order of its first entries: the archive that was live last comes first.
  const newestOf = new Map<string, KnownDeployment>()
  for (const one of retired) {
    const newest = newestOf.get(one.archive)
    if (one.archive !== liveArchive && (!newest || one.buildId > newest.buildId)) newestOf.set(one.archive, one)
  }
  const inOrder = [...newestOf.values(), ...retired].map(({ id }) => id)
  const kept = new Set([...new Set(inOrder)].slice(0, count))
  // Unless none are kept, the deployment that was live before can be made live again, whatever its archive is.
  const [before] = retired
  return before && count > 0 ? kept.add(before.id) : kept
}
