/**
 * Whether a build left what visitors get already. Then there is nothing to switch, and what the edge has stored is right.
 * Pure.
 *
 * For files alone: the output's digest covers every one of them, and how they are served. A server is always switched, as
 * its output is not all that it answers from. It may read its content when it starts, and it keeps pages that it rendered
 * while it ran; to begin anew may be the very thing that a rebuild is for.
 */
import type { SealedVariable } from '../../apps/index.ts'
import type { Build } from '../../builds/index.ts'
import type { Deployment } from '../records/deployments.ts'

type Made = Pick<Build, 'output' | 'plan'> & { variables: readonly SealedVariable[] }
type Live = Pick<Build, 'output'> & Pick<Deployment, 'variables'>

export function isUnchanged(made: Made, live: Live): boolean {
  if (made.plan?.output.kind !== 'static' || made.output === null || made.output !== live.output) return false
  // They are part of what a deployment is, be it that files have no use for them.
  return JSON.stringify(made.variables) === JSON.stringify(live.variables)
}
