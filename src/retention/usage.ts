/**
 * The disk usage, in bytes and files, by kind. An archive or packages that several environments of an account use count with
 * each of them as shared, and once for the account. That two accounts share a file is not shown to either.
 */
import type { Environments } from '../apps/index.ts'
import { type Clock, toRfc3339 } from '../base/index.ts'
import type { BuildRetention, RetainedItem, Size } from '../builds/index.ts'
import { names, resources } from '../contract/index.ts'
import type { Repositories } from '../git/index.ts'
import type { SnapshotRecords } from '../snapshots/index.ts'
import { StorageUnavailable } from '../storage/index.ts'
import type { Ages, Figure, Figures } from './figures.ts'

type Parts = {
  clock: Clock
  environments: Pick<Environments, 'all'>
  buildRetention: Pick<BuildRetention, 'archives' | 'outputs' | 'packages'>
  /** They belong to apps, and to no environment. */
  repositories: Pick<Repositories, 'sizes'>
  snapshotRecords: Pick<SnapshotRecords, 'sizes'>
  figures: Figures
  /** 0 for no limit. */
  accountBytes: number
  accountFiles: number
}

type Item = RetainedItem & { kind: resources.UsageKind }

/** Caches change with builds only, and are measured after each that went live. */
const FRESH: Ages = { CACHES: 60 * 60_000, LOGS: 60_000, RUNS: 60_000, EARLIER: 60_000 }
const LARGEST_SHOWN = 10

export function createUsage(parts: Parts) {
  const { clock, environments, buildRetention, repositories, figures, accountBytes, accountFiles } = parts

  /** Everything that one account stores, or that all accounts store. */
  async function items(accountId?: string): Promise<Item[]> {
    const ofKind = (kind: resources.UsageKind, held: readonly RetainedItem[]) => held.map((one) => ({ ...one, kind }))
    return [
      ...ofKind('ARCHIVES', await buildRetention.archives(accountId)),
      ...(await repositories.sizes(accountId)).map((one) => ({
        ...one,
        kind: 'REPOSITORIES' as const,
        environmentId: '',
      })),
      ...ofKind('SNAPSHOTS', await parts.snapshotRecords.sizes(accountId)),
      ...ofKind('OUTPUTS', await buildRetention.outputs(accountId)),
      ...ofKind('PACKAGES', await buildRetention.packages(accountId)),
      ...(await figures.read(accountId)).map(toItem),
    ]
  }

  async function byEnvironment(accountId: string, held: readonly Item[]) {
    const sums = new Map<string, number>()
    for (const { environmentId, bytes } of held) sums.set(environmentId, (sums.get(environmentId) ?? 0) + bytes)
    return (await environments.all(accountId))
      .map(({ id, appName, displayName }) => ({ id, appName, displayName, bytes: sums.get(id) ?? 0 }))
      .toSorted((a, b) => b.bytes - a.bytes)
  }

  return {
    async ofEnvironment(accountId: string, at: names.EnvironmentPath): Promise<resources.EnvironmentUsage> {
      const { environment } = at
      // On a full disk new figures cannot be stored, and the last ones are used.
      await figures.measure(environment, FRESH).catch(ignoreUnavailable)
      const held = await items(accountId)
      const mine = held.filter(({ environmentId }) => environmentId === environment)
      const others = new Set(held.flatMap((item) => (item.environmentId === environment ? [] : identityOf(item))))
      const measured = (await figures.read(accountId)).filter(({ environmentId }) => environmentId === environment)
      return {
        name: names.environmentUsageResource(at),
        bytes: sumOf(mine),
        files: filesOf(mine),
        kinds: resources.USAGE_KINDS.map((kind) => {
          const ofKind = mine.filter((item) => item.kind === kind)
          const shared = ofKind.filter((item) => others.has(identityOf(item)))
          return { kind, bytes: sumOf(ofKind), sharedBytes: sumOf(shared) }
        }),
        measureTime: toRfc3339(Math.min(clock.now(), ...measured.map(({ measureTime }) => measureTime))),
      }
    },

    async ofAccount({ id, name }: { id: string; name: string }): Promise<Omit<resources.AccountUsage, 'ceilings'>> {
      const held = await items(id)
      const once = countedOnce(held)
      const largest = (await byEnvironment(id, held)).slice(0, LARGEST_SHOWN)
      return {
        name: names.accountUsageResource(name),
        bytes: sumOf(once),
        limitBytes: accountBytes,
        files: filesOf(once),
        limitFiles: accountFiles,
        kinds: sumsByKind(once),
        environments: largest.map(({ id: environment, appName, displayName, bytes }) => ({
          environment: names.environmentResource({ account: name, app: appName, environment }),
          displayName,
          bytes,
        })),
      }
    },

    async sizeOf(accountId: string): Promise<Size> {
      const once = countedOnce(await items(accountId))
      return { bytes: sumOf(once), files: filesOf(once) }
    },

    /** The environment that uses the most. */
    async largest(accountId: string): Promise<{ id: string; appName: string; bytes: number } | undefined> {
      return (await byEnvironment(accountId, await items(accountId)))[0]
    },

    /** The usage of all accounts together. */
    async total(): Promise<{ kind: resources.UsageKind; bytes: number }[]> {
      return sumsByKind(countedOnce(await items()))
    },
  }
}

export type Usage = ReturnType<typeof createUsage>

/** Measured folders are never shared. What is left of removed outputs counts with the outputs. */
const toItem = ({ measureTime: _, kind, ...figure }: Figure): Item => ({
  ...figure,
  kind: kind === 'EARLIER' ? 'OUTPUTS' : kind,
  key: figure.environmentId,
})

function ignoreUnavailable(error: unknown) {
  if (!(error instanceof StorageUnavailable)) throw error
}

const identityOf = ({ kind, key }: Item): string => `${kind} ${key}`

const countedOnce = (items: readonly Item[]): Item[] => [
  ...new Map(items.map((item) => [identityOf(item), item])).values(),
]

const sumOf = (items: readonly Item[]): number => items.reduce((sum, { bytes }) => sum + bytes, 0)

const filesOf = (items: readonly Item[]): number => items.reduce((sum, { files }) => sum + files, 0)

const sumsByKind = (items: readonly Item[]) =>
  resources.USAGE_KINDS.map((kind) => ({ kind, bytes: sumOf(items.filter((item) => item.kind === kind)) }))
