/**
 * Packages that replace the adapter of another host, stored beside the other tools. Of each, the newest version is used whose
 * peer dependencies allow the framework's installed version.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import semver from 'semver'
import { absent, type Clock } from '../../base/index.ts'
import type { Tool } from './exact.ts'
import { createCachedRequests } from './lists.ts'
import { notAvailable } from './problems.ts'
import type { Published, Registry } from './registry.ts'
import { NEVER } from './shared.ts'
import type { ToolStore } from './store.ts'

export type WantedAdapter = {
  package: string
  /** The framework's package and its installed version. */
  peer: string
  peerVersion: string
}

export type AdapterOptions = {
  /** Asks the registry, even if a fetched version fits. */
  isFresh: boolean
  signal?: AbortSignal
  /** Called before it is fetched. */
  onFetch?: (what: string) => void
}

/** The folder has the package in `node_modules`, together with its dependencies. */
export type FetchedAdapter = { version: string; folder: string }

export function createAdapters({ store, registry, clock }: { store: ToolStore; registry: Registry; clock: Clock }) {
  const published = createCachedRequests((name, signal) => registry.published(name, signal), clock)

  /** The versions that were fetched before, with their peer dependencies. */
  async function fetchedVersions(name: string): Promise<Published[]> {
    const found: Published[] = []
    for (const version of await store.versions(name)) {
      const manifest = join(store.rootOf(toolOf(name, version)), 'package.json')
      const text = await readFile(manifest, 'utf8').catch(absent)
      if (text !== undefined) found.push({ version, peers: Object(JSON.parse(text).peerDependencies) })
    }
    return found
  }

  /** Asks the registry when no fetched version fits, or when a new choice is wanted. */
  async function choose(wanted: WantedAdapter, isFresh: boolean, signal: AbortSignal): Promise<string | undefined> {
    const kept = newestFor(wanted, await fetchedVersions(wanted.package))
    if (kept !== undefined && !isFresh) return kept
    try {
      return newestFor(wanted, await published.of(wanted.package, signal)) ?? kept
    } catch (error) {
      signal.throwIfAborted()
      if (kept !== undefined) return kept
      throw notAvailable(wanted.package, error)
    }
  }

  return {
    /** Undefined where no version fits. */
    async take(
      wanted: WantedAdapter,
      { isFresh, signal = NEVER, onFetch }: AdapterOptions,
    ): Promise<FetchedAdapter | undefined> {
      const version = await choose(wanted, isFresh, signal)
      if (version === undefined) return undefined
      const tool = toolOf(wanted.package, version)
      const title = `${wanted.package} ${version}`
      await store
        .take(tool, signal, () => onFetch?.(title))
        .catch((error) => {
          signal.throwIfAborted()
          throw notAvailable(title, error)
        })
      return { version, folder: store.placeOf(tool) }
    },
  }
}

const toolOf = (name: string, version: string): Tool => ({ name: 'adapter', package: name, version })

const MAX_RANGE_LENGTH = 200

/** A prerelease of a framework counts like its release. */
export function newestFor({ peer, peerVersion }: WantedAdapter, versions: readonly Published[]): string | undefined {
  const fitting = versions.filter(({ version, peers }) => {
    const range = peers[peer]
    return (
      semver.prerelease(version) === null &&
      typeof range === 'string' &&
      range.length <= MAX_RANGE_LENGTH &&
      semver.satisfies(peerVersion, range, { includePrerelease: true })
    )
  })
  return semver.rsort(fitting.map(({ version }) => version))[0]
}
