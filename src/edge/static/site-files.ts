/**
 * Where the files of static sites are: as the control process says, or, on a machine that gets them from a registry (`areFetched`),
 * as its files process says. There it also knows which environments need an output, and which outputs none of them needs any more.
 */
import type { Access, EnvironmentRoutes, FilesReport, Routed, RouteTarget, StoredOutput } from '../routes.ts'

type StaticRoute = Extract<RouteTarget, { kind: 'static' }> & { access?: Access }

export function createSiteFiles(areFetched: boolean) {
  const reports = new Map<string, FilesReport>()
  const users = new Map<string, Set<string>>()
  const outputsOf = new Map<string, ReadonlySet<string>>()
  const unused = new Set<string>()

  /** Undefined for a target that needs no files, or whose files are here. */
  function missingOf(target: RouteTarget): StoredOutput | undefined {
    const output = areFetched && target.kind === 'static' ? target.output : undefined
    return output && reports.get(output.digest)?.state === 'here' ? undefined : output
  }

  return {
    missingOf,
    missingIn: (hosts: EnvironmentRoutes['hosts']): StoredOutput | undefined =>
      Object.values(hosts)
        .map(missingOf)
        .find((output) => output !== undefined),

    resolve(target: StaticRoute): Routed {
      if (!areFetched) return target
      const { kind, folder: _folder, manifest: _manifest, output, ...rest } = withoutEarlier(target)
      const report = output && reports.get(output.digest)
      if (report?.state === 'here') return { kind, ...rest, folder: report.folder, manifest: report.manifest }
      return output && !report ? { kind: 'unfetched', ...rest, output } : { kind: 'unavailable', ...rest }
    },

    /** The index of earlier files is on the machine of the control process. */
    onThisMachine: <T extends RouteTarget>(target: T): Omit<T, 'earlierFiles'> =>
      areFetched ? withoutEarlier(target) : target,

    /** All targets of an environment. */
    use(environment: string, targets: readonly RouteTarget[]) {
      if (!areFetched) return
      const next = new Set(targets.flatMap((target) => (target.kind === 'static' ? (target.output?.digest ?? []) : [])))
      for (const digest of outputsOf.get(environment) ?? []) {
        const left = users.get(digest)
        if (next.has(digest) || !left) continue
        left.delete(environment)
        if (left.size > 0) continue
        users.delete(digest)
        reports.delete(digest)
        unused.add(digest)
      }
      for (const digest of next) {
        users.set(digest, (users.get(digest) ?? new Set()).add(environment))
        unused.delete(digest)
      }
      if (next.size > 0) outputsOf.set(environment, next)
      else outputsOf.delete(environment)
    },

    /** Returns the environments for which that changes something: one that none needs is ignored. */
    report(digest: string, report: FilesReport | undefined): string[] {
      const concerned = [...(users.get(digest) ?? [])]
      if (concerned.length === 0) return []
      if (report) reports.set(digest, report)
      else reports.delete(digest)
      return concerned
    },

    isUsed: (digest: string): boolean => users.has(digest),
    find: (digest: string): FilesReport | undefined => reports.get(digest),
    /** Digests of the outputs whose files are in use. */
    here: (): string[] => [...reports].flatMap(([digest, { state }]) => (state === 'here' ? digest : [])),
    /** Digests of outputs that no environment needs any more, since the last call. */
    takeUnused(): string[] {
      const taken = [...unused]
      unused.clear()
      return taken
    },
  }
}

function withoutEarlier<T extends RouteTarget>({ earlierFiles: _, ...target }: T): Omit<T, 'earlierFiles'> {
  return target
}
