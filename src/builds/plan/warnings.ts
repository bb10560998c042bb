/** Warnings about a build: sentences for the tenant about what works today and should be changed. */

import type { Exact } from '../toolchain/exact.ts'
import { endedWarning } from '../toolchain/node-lines.ts'
import { adapterWarning } from './frameworks/foreign.ts'
import type { Plan } from './plan.ts'

export function warningsOf(plan: Plan | null, tools: Exact | null, now: number): string[] {
  if (plan === null || tools === null || !usesNode(plan)) return []
  return [endedWarning(tools.node, plan.nodeSetBy, now), adapterWarning(plan)].filter(
    (warning) => warning !== undefined,
  )
}

/** False for files that are served as they were uploaded. */
export const usesNode = ({ install, build, output }: Plan): boolean =>
  install !== null || build !== null || output.kind === 'server'
