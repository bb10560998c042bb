/** Sizes that are only found by walking through folders, stored with the time of the last measurement. */
import type { Environments } from '../apps/index.ts'
import { type Clock, createTurns } from '../base/index.ts'
import { type BuildRetention, type Size, sizeOf } from '../builds/index.ts'
import { buildLogName, earlierFilesSize, type Folders, runtimeLogName } from '../deployments/index.ts'
import type { StoredKv } from '../kv/index.ts'
import { requestLogName } from '../request-log/index.ts'
import { type LineLogs, type Sql, statement } from '../storage/index.ts'

/** `EARLIER`: files of earlier deployments that no output has any more. */
export type WalkedKind = 'CACHES' | 'LOGS' | 'RUNS' | 'EARLIER'
export type Figure = Size & { environmentId: string; kind: WalkedKind; measureTime: number }

/** Counting ends at this number of files. */
const MAX_FILES = 1_000_000

const KINDS: readonly WalkedKind[] = ['CACHES', 'LOGS', 'RUNS', 'EARLIER']
/** The age, in milliseconds, up to which a figure is not measured again. */
export type Ages = Record<WalkedKind, number>

type Parts = {
  sql: Sql
  clock: Clock
  environments: Pick<Environments, 'accountIdOf'>
  buildRetention: Pick<BuildRetention, 'withLogs'>
  folders: Folders
  logs: LineLogs
  /** Undefined where values of the key-value store are files. */
  storedValues?: Pick<StoredKv, 'sizeOf'> | undefined
  /** Whether the folders of an environment may be on several machines. Each then measures what it has. */
  isSpread?: boolean
}

const NONE: Size = { files: 0, bytes: 0 }

export function createFigures(parts: Parts) {
  const { sql, clock, environments, buildRetention, folders, logs, storedValues, isSpread = false } = parts
  const inTurn = createTurns()

  async function logSize(environmentId: string): Promise<Size> {
    const builds = await buildRetention.withLogs(environmentId)
    const names = [runtimeLogName(environmentId), requestLogName(environmentId), ...builds.map(buildLogName)]
    const bytes = await Promise.all(names.map((name) => logs.bytesOf(name)))
    return { files: names.length, bytes: bytes.reduce((sum, one) => sum + one, 0) }
  }

  const walk: Record<WalkedKind, (environmentId: string) => Promise<Size>> = {
    CACHES: (environmentId) => sizeIn(folders.cacheOf(environmentId)),
    LOGS: logSize,
    EARLIER: (environmentId) => earlierFilesSize(folders.earlier(environmentId)),
    async RUNS(environmentId) {
      const stored = (await storedValues?.sizeOf(environmentId)) ?? NONE
      const [runs, values] = [await sizeIn(folders.runs(environmentId)), await sizeIn(folders.values(environmentId))]
      return { files: runs.files + values.files + stored.files, bytes: runs.bytes + values.bytes + stored.bytes }
    },
  }

  /** One that is on another machine has no size here. */
  async function isHere(kind: WalkedKind, environmentId: string): Promise<boolean> {
    if (!isSpread || kind === 'LOGS' || kind === 'RUNS') return true
    return (await sizeIn(kind === 'CACHES' ? folders.cacheOf(environmentId) : folders.earlier(environmentId))).files > 0
  }

  async function remember(environmentId: string, sizes: ReadonlyMap<WalkedKind, Size>) {
    const now = clock.now()
    await sql.transaction(async (tx) => {
      const accountId = await environments.accountIdOf(tx, environmentId)
      // The environment may have been deleted in the meantime.
      if (accountId === undefined) return
      for (const [kind, { bytes, files }] of sizes)
        await tx.query(statement`
          INSERT INTO usage_figures (environment_id, account_id, kind, bytes, files, measure_time)
          VALUES (${environmentId}, ${accountId}, ${kind}, ${bytes}, ${files}, ${now})
          ON CONFLICT (environment_id, kind)
          DO UPDATE SET bytes = ${bytes}, files = ${files}, measure_time = ${now}`)
    })
  }

  /** The figures of one account or of all. */
  async function read(accountId?: string): Promise<Figure[]> {
    const mine = accountId === undefined ? statement`account_id IS NOT NULL` : statement`account_id = ${accountId}`
    const rows = await sql.query<Size & { environment_id: string; kind: WalkedKind; measure_time: number }>(
      statement`SELECT environment_id, kind, bytes, files, measure_time FROM usage_figures WHERE ${mine}`,
    )
    return rows.map((row) => ({
      environmentId: row.environment_id,
      kind: row.kind,
      bytes: row.bytes,
      files: row.files,
      measureTime: row.measure_time,
    }))
  }

  async function measureTimes(environmentId: string): Promise<Map<WalkedKind, number>> {
    const rows = await sql.query<{ kind: WalkedKind; measure_time: number }>(
      statement`SELECT kind, measure_time FROM usage_figures WHERE environment_id = ${environmentId}`,
    )
    return new Map(rows.map(({ kind, measure_time }) => [kind, measure_time]))
  }

  return {
    read,

    /** Measures the figures again that are too old. Other callers wait for a measurement that is under way, and use its result. */
    measure(environmentId: string, ages: Ages): Promise<void> {
      return inTurn(environmentId, async () => {
        const times = await measureTimes(environmentId)
        const old = KINDS.filter((kind) => clock.now() - (times.get(kind) ?? 0) >= ages[kind])
        const sizes = new Map<WalkedKind, Size>()
        for (const kind of old) if (await isHere(kind, environmentId)) sizes.set(kind, await walk[kind](environmentId))
        if (sizes.size > 0) await remember(environmentId, sizes)
      })
    },

    async forgetAllBut(environments: ReadonlySet<string>) {
      const known = new Set((await read()).map(({ environmentId }) => environmentId))
      for (const id of known.difference(environments))
        await sql.transaction((tx) => tx.query(statement`DELETE FROM usage_figures WHERE environment_id = ${id}`))
    },
  }
}

export type Figures = ReturnType<typeof createFigures>

const sizeIn = (folder: string): Promise<Size> => sizeOf(folder, { files: MAX_FILES, bytes: Number.POSITIVE_INFINITY })
