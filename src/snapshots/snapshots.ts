/** Snapshots of content: kept after a build, brought back for another one, and compared. */
import { mkdir } from 'node:fs/promises'
import { createTurns } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import type { Blobs } from '../storage/index.ts'
import { type Recorded, SNAPSHOT_LIMITS } from './content-view.ts'
import type { Difference } from './diff/compare.ts'
import { openSealed, type Sealing, sealFolder } from './pack.ts'
import type { Snapshot, SnapshotRecords } from './records.ts'

type Parts = {
  records: SnapshotRecords
  blobs: Pick<Blobs, 'put' | 'withFile'>
  /** A secret of 256 bits for a place, always the same. */
  derive(place: string): string
}

/** Comparisons at a time, of all accounts: each takes up to half a gigabyte of memory. */
const COMPARING = 2

type At = { accountId: string; id: string }

export function createSnapshots({ records, blobs, derive }: Parts) {
  const placeOf = (environmentId: string) => `environments/${environmentId}/content-snapshots`
  const sealingOf = (environmentId: string): Sealing => ({
    key: derive(`${placeOf(environmentId)}/pack`),
    place: placeOf(environmentId),
  })
  const inTurn = createTurns()
  let compared = 0

  return {
    records,
    /** By which requests of one environment are compared. */
    secretOf: ({ id }: At): string => derive(`${placeOf(id)}/requests`),

    /** Keeps what was recorded, sealed. */
    async keep({ accountId, id }: At, buildId: string, { folder, answers }: Recorded): Promise<void> {
      const { digest, bytes: sealed } = await blobs.put(sealFolder(folder, sealingOf(id), SNAPSHOT_LIMITS.fileBytes))
      await records.insert({
        buildId,
        environmentId: id,
        accountId,
        digest,
        answers: Math.min(answers, 1e6),
        bytes: sealed,
      })
    },

    /** A build that ran from a snapshot has its content. */
    copy: ({ accountId }: At, buildId: string, snapshot: Snapshot): Promise<void> =>
      records.insert({ ...snapshot, buildId, accountId }),

    /** Writes a snapshot into a new folder, for the program that answers from it. */
    async open({ digest, environmentId }: Snapshot, folder: string): Promise<void> {
      await mkdir(folder, { recursive: true, mode: 0o755 })
      await blobs.withFile(digest, (file) =>
        openSealed(file, folder, sealingOf(environmentId), SNAPSHOT_LIMITS.fileBytes),
      )
    },

    /** What changed from one build to another, of one environment. One comparison of an account at a time. */
    async compare(
      { accountId, id }: At,
      from: string,
      to: string,
    ): Promise<Difference & { from: Snapshot; to: Snapshot }> {
      const [before, after] = [await requireSnapshot(accountId, id, from), await requireSnapshot(accountId, id, to)]
      const sealing = sealingOf(id)
      const { runCompare } = await import('./diff/run.ts')
      const difference = await inTurn(accountId, () =>
        inTurn(`place ${compared++ % COMPARING}`, () =>
          blobs.withFile(before.digest, (first) =>
            blobs.withFile(after.digest, (second) => runCompare({ files: [first, second], sealing })),
          ),
        ),
      )
      return { ...difference, from: before, to: after }
    },
  }

  async function requireSnapshot(accountId: string, environmentId: string, buildId: string): Promise<Snapshot> {
    const found = await records.find(accountId, environmentId, buildId)
    if (found) return found
    throw new Problem('CONTENT_NOT_RECORDED', `There is no content snapshot of the build ${buildId}.`)
  }
}

export type Snapshots = ReturnType<typeof createSnapshots>
