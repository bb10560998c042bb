/** Counts what the targets of the route table refer to, and tells after a change what none of them refers to any more. */
import type { Routed } from './routes.ts'

export type Unused = {
  environments: string[]
  /** Environments of which no target has a manifest any more. */
  listed: string[]
  manifests: string[]
  instances: string[]
}

export function createReferences() {
  const environments = createCounter()
  const listed = createCounter()
  const manifests = createCounter()
  const instances = createCounter()

  function count(target: Routed, change: 1 | -1) {
    environments.change(target.environment, change)
    for (const manifest of manifestsOf(target)) {
      listed.change(target.environment, change)
      manifests.change(manifest, change)
    }
    if (target.kind === 'server')
      for (const { instance } of target.peers ?? [target]) instances.change(instance, change)
  }

  return {
    /** The targets of the changed hosts, before and after. */
    change(before: Iterable<Routed>, after: Iterable<Routed>): Unused {
      for (const target of after) count(target, 1)
      for (const target of before) count(target, -1)
      return {
        environments: environments.takeUnused(),
        listed: listed.takeUnused(),
        manifests: manifests.takeUnused(),
        instances: instances.takeUnused(),
      }
    },
    environments: (): ReadonlySet<string> => environments.names(),
  }
}

const manifestsOf = (target: Routed): string[] => [
  ...(target.kind === 'static' ? [target.manifest] : []),
  ...(target.earlierFiles === undefined ? [] : [target.earlierFiles]),
]

function createCounter() {
  const counts = new Map<string, number>()
  const zero = new Set<string>()
  return {
    change(name: string, by: 1 | -1) {
      const count = (counts.get(name) ?? 0) + by
      if (count > 0) counts.set(name, count)
      else counts.delete(name)
      if (count > 0) zero.delete(name)
      else zero.add(name)
    },
    takeUnused(): string[] {
      const unused = [...zero]
      zero.clear()
      return unused
    },
    names: (): ReadonlySet<string> => new Set(counts.keys()),
  }
}
