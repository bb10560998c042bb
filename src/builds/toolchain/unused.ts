/** Which fetched tools are not needed any more. Pure. */
import semver from 'semver'
import { type Exact, managerTool, nodeTool, type Tool } from './exact.ts'
import type { Kept } from './store.ts'

/** The record of a build that just began to use a tool may not be in `keep` yet. */
const RECENT_MS = 24 * 60 * 60_000

type Circumstances = { keep: readonly Exact[]; arch: string; now: number }

export function unusedOf(kept: readonly Kept[], { keep, arch, now }: Circumstances): Kept[] {
  const needed = keep.flatMap((exact) => toolsOf(exact, arch))
  const isKept = (tool: Tool) => kept.some((one) => one.package === tool.package && one.version === tool.version)
  // Another version of the same major version may be in use instead of a missing one.
  const serves = (one: Kept, tool: Tool) =>
    one.package === tool.package &&
    (one.version === tool.version || (!isKept(tool) && semver.major(one.version) === semver.major(tool.version)))
  return kept.filter((one) => now - one.usedAt > RECENT_MS && !needed.some((tool) => serves(one, tool)))
}

const toolsOf = ({ node, packageManager }: Exact, arch: string): Tool[] => [
  nodeTool(node, arch),
  ...(packageManager ? [managerTool(packageManager.name, packageManager.version, arch)] : []),
]
