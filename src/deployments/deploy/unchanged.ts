/**
 * Whether visitors already get the output of a build. Then nothing is switched, and the cache of the edge stays valid. Pure.
 *
 * This holds for files only: the output's digest covers all of them, and how they are served. A server is always switched, as
 * it answers from more than its output: it may read content when it starts, and it keeps pages that it rendered while it ran.
 * A fresh start may be the reason for the rebuild.
 */
import type { SealedVariable } from '../../apps/index.ts'
import type { Build } from '../../builds/index.ts'
import type { Deployment } from '../records/rows.ts'

type Made = Pick<Build, 'output' | 'plan'> & { variables: readonly SealedVariable[] }
type Live = Pick<Build, 'output'> & Pick<Deployment, 'variables'>

export function isUnchanged(made: Made, live: Live): boolean {
  if (made.plan?.output.kind !== 'static' || made.output === null || made.output !== live.output) return false
  // A deployment records its variables, even if files do not use them.
  return JSON.stringify(made.variables) === JSON.stringify(live.variables)
}
