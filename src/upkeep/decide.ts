/**
 * What an environment keeps, and what may go. Pure.
 *
 * Promised are the live deployment and the last few that were live before it, by when they stopped being so: whoever rolls
 * back wants what served last. The newest that is held stays, too. Whatever an unfinished operation made or is to make live stays, too, and what still runs.
 * A build's output stays while one of its deployments does, and while the build is not over.
 */
import type { Deployment } from '../deployments/index.ts'

export type KnownDeployment = Pick<Deployment, 'id' | 'buildId' | 'state' | 'retireTime'> & {
  /** An unfinished operation made it, or is to make it live. */
  isWanted: boolean
  /** A process of it is there, be it one that drains. */
  isRunning: boolean
}

/** The oldest first. */
export type KnownBuild = { id: string; isOver: boolean; hasOutput: boolean; hasPackages: boolean }

type Kept = { deployment: string; because: 'LIVE' | 'WANTED' | 'RUNNING' | 'RECENT' | 'HELD' }
type Discarded = { deployment: string; because: 'OLD' | 'NEVER_LIVE' }

export type Decision = {
  keep: Kept[]
  discard: Discarded[]
  /** Builds that let go of their output, and of their packages. */
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
  const recent = new Set(
    deployments
      .filter(({ id, state }) => state === 'RETIRED' && id !== liveDeployment)
      .toSorted((a, b) => (b.retireTime ?? 0) - (a.retireTime ?? 0) || (a.id < b.id ? 1 : -1))
      .slice(0, keepDeployments)
      .map(({ id }) => id),
  )

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
  // A build after one that did not come up would have to install everything anew.
  const lastWithPackages = builds.findLast(({ hasPackages }) => hasPackages)?.id
  return {
    keep,
    discard,
    outputs: spare.filter(({ hasOutput }) => hasOutput).map(({ id }) => id),
    packages: spare.filter(({ id, hasPackages }) => hasPackages && id !== lastWithPackages).map(({ id }) => id),
  }
}
