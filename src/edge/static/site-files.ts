/**
 * Where the files of static sites are: as the control process says, or, on a machine that gets them from a registry (`areFetched`),
 * as its files process says. There it also knows which environments need an output, and which outputs none of them needs any more.
 */
import type {
  Access,
  EarlierOutputs,
  EnvironmentRoutes,
  FilesReport,
  Routed,
  RouteTarget,
  StoredOutput,
} from '../routes.ts'

type StaticRoute = Extract<RouteTarget, { kind: 'static' }> & { access?: Access }

/** The live output and earlier ones, of which an index is made. */
export type Succession = { live: StoredOutput; earlier: EarlierOutputs }

export function createSiteFiles(areFetched: boolean) {
  const reports = new Map<string, FilesReport>()
  const users = new Map<string, Set<string>>()
  const outputsOf = new Map<string, ReadonlySet<string>>()
  const unused = new Set<string>()
  const successions = new Map<string, readonly Succession[]>()

  const isHere = (digest: string): boolean => reports.get(digest)?.state === 'here'

  /** Undefined for a target that needs no files, or whose files are here. */
  function missingOf(target: RouteTarget): StoredOutput | undefined {
    const output = areFetched && target.kind === 'static' ? target.output : undefined
    return output && isHere(output.digest) ? undefined : output
  }

  function earlierFilesIn(earlier: EarlierOutputs | undefined): { earlierFiles?: string } {
    const report = earlier && reports.get(earlier.digest)
    return report?.state === 'here' && report.manifest !== '' ? { earlierFiles: report.manifest } : {}
  }

  return {
    missingOf,
    missingIn: (hosts: EnvironmentRoutes['hosts']): StoredOutput | undefined =>
      Object.values(hosts)
        .map(missingOf)
        .find((output) => output !== undefined),

    resolve(target: StaticRoute): Routed {
      if (!areFetched) return target
      const { kind, folder: _folder, manifest: _manifest, output, earlier, ...rest } = withoutEarlier(target)
      const report = output && reports.get(output.digest)
      if (report?.state === 'here') {
        const { folder, manifest } = report
        return { kind, ...rest, folder, manifest, ...earlierFilesIn(earlier) }
      }
      return output && !report ? { kind: 'unfetched', ...rest, output } : { kind: 'unavailable', ...rest }
    },

    /** The index of earlier files is on the machine of the control process. */
    onThisMachine: <T extends RouteTarget>(target: T): Omit<T, 'earlierFiles'> =>
      areFetched ? withoutEarlier(target) : target,

    /** All targets of an environment. */
    use(environment: string, targets: readonly RouteTarget[]) {
      if (!areFetched) return
      const found = targets.flatMap(successionIn)
      if (found.length > 0) successions.set(environment, found)
      else successions.delete(environment)
      const next = new Set(targets.flatMap(digestsIn))
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

    /** The index of earlier files that an environment lacks, whose live output is here. */
    missingEarlier: (environment: string): Succession | undefined =>
      successions.get(environment)?.find(({ live, earlier }) => isHere(live.digest) && !reports.has(earlier.digest)),
    /** The indexes of earlier files that belong to an output, which may be on its way. */
    earlierOf: (digest: string): Succession[] =>
      [...(users.get(digest) ?? [])]
        .flatMap((environment) => successions.get(environment) ?? [])
        .filter(({ live, earlier }) => live.digest === digest && !reports.has(earlier.digest)),
    /** The environments that need an output. */
    usersOf: (digest: string): string[] => [...(users.get(digest) ?? [])],

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

function successionIn(target: RouteTarget): Succession[] {
  if (target.kind !== 'static' || !target.output || !target.earlier) return []
  return [{ live: target.output, earlier: target.earlier }]
}

/** Of an output, and of the index of earlier files beside it. */
function digestsIn(target: RouteTarget): string[] {
  if (target.kind !== 'static' || !target.output) return []
  return [target.output.digest, ...(target.earlier ? [target.earlier.digest] : [])]
}

function withoutEarlier<T extends RouteTarget>({ earlierFiles: _, ...target }: T): Omit<T, 'earlierFiles'> {
  return target
}
