/**
 * Whether more data fits: into the quota of the account, and onto the disk without its reserve. This is checked before an
 * upload is read and before a build begins, so that no client waits for a failure that could be foreseen.
 */
import type { Account, Accounts } from '../accounts/index.ts'
import { type BuildRetention, bytesInWords, type Size, type SourceArchive } from '../builds/index.ts'
import { names, Problem, type ProblemDetails } from '../contract/index.ts'
import type { BuildSpace } from '../deployments/index.ts'
import type { Reader } from '../storage/index.ts'
import type { Lingering } from './lingering.ts'
import type { Usage } from './usage.ts'

type Parts = {
  sql: Reader
  accounts: Pick<Accounts, 'requireById'>
  buildRetention: Pick<BuildRetention, 'lastOutputBytes'>
  usage: Pick<Usage, 'sizeOf' | 'largest'>
  lingering: Pick<Lingering, 'bytesOf' | 'received'>
  freeBytes(): Promise<number>
  /** 0 for no limit. */
  accountBytes: number
  accountFiles: number
  diskReserve: number
  /** Called when something had to be refused: there may be files that can be removed. */
  onShortage(): void
}

const RETRY_AFTER_SECONDS = 60

/** Disk space that was reserved for an upload. */
export type SpaceReservation = {
  /** Called as bytes arrive: the reservation of an upload without a declared length grows step by step, or is refused. */
  cover(bytes: number): Promise<void>
  giveBack(): void
}

/** By how much a reservation grows. */
const STEP_BYTES = 16 * 1024 * 1024

export function createDiskSpace(parts: Parts) {
  const { accountBytes, accountFiles, diskReserve, usage } = parts
  /** Space that was reserved for running uploads, which may not have written all of it yet. */
  const reservations = new Set<{ accountId: string; bytes: number }>()

  const reservedBytes = (accountId?: string): number =>
    [...reservations].reduce(
      (sum, one) => sum + (accountId === undefined || accountId === one.accountId ? one.bytes : 0),
      0,
    )

  async function checkQuota(account: Account, needed: number, neededFiles = 1) {
    if (accountBytes === 0 && accountFiles === 0) return
    const held = await usage.sizeOf(account.id)
    if (accountFiles > 0 && held.files + neededFiles > accountFiles)
      throw await tooManyFiles(account, held, neededFiles)
    if (accountBytes === 0) return
    const used = held.bytes + reservedBytes(account.id)
    if (used + needed <= accountBytes) return checkLingering(account, needed)
    const { advice, metadata } = await wayOut(account)
    parts.onShortage()
    throw new Problem(
      'QUOTA_EXCEEDED',
      `The account holds ${bytesInWords(used)} of ${bytesInWords(accountBytes)}, and this takes ${atLeast(needed)} more. ${advice}`,
      { metadata: { ...metadata, limit: String(accountBytes), used: String(used), needed: String(needed) } },
    )
  }

  async function tooManyFiles(account: Account, { files }: Size, needed: number): Promise<Problem> {
    const { advice, metadata } = await wayOut(account)
    parts.onShortage()
    return new Problem(
      'QUOTA_EXCEEDED',
      `The account holds ${count(files)} of ${count(accountFiles)} files and folders, and this takes ${count(needed)} more. ${advice}`,
      {
        metadata: {
          ...metadata,
          what: 'files',
          limit: String(accountFiles),
          used: String(files),
          needed: String(needed),
        },
      },
    )
  }

  /** Files that no row refers to are limited to the same size as the quota: an account never uses more than twice its quota. */
  async function checkLingering({ id }: Account, needed: number) {
    const lingering = await parts.lingering.bytesOf(id)
    if (lingering === 0 || lingering + needed <= accountBytes) return
    parts.onShortage()
    throw new Problem(
      'QUOTA_EXCEEDED',
      `Archives that were replaced, refused or deleted of late take ${bytesInWords(lingering)} until they are removed, in some minutes. Try again then.`,
      { metadata: { limit: String(accountBytes), lingering: String(lingering), needed: String(needed) } },
    )
  }

  /** Undefined if it fits. */
  async function diskShortage(account: Account, needed: number) {
    const free = (await parts.freeBytes()) - reservedBytes()
    if (free - needed >= diskReserve) return undefined
    const { advice, metadata } = await wayOut(account)
    parts.onShortage()
    const numbers = { free: String(Math.max(0, free)), reserve: String(diskReserve), needed: String(needed) }
    return {
      message: `There is no space on the disk for ${atLeast(needed)} more: ${bytesInWords(diskReserve)} are kept free. ${advice}`,
      details: { metadata: { ...metadata, ...numbers } } satisfies ProblemDetails,
    }
  }

  /** What would free space. */
  async function wayOut(account: Account) {
    const largest = await usage.largest(account.id)
    if (!largest || largest.bytes === 0) return { advice: 'The operator can free space.', metadata: {} }
    const name = names.environmentResource({ account: account.name, app: largest.appName, environment: largest.id })
    return {
      advice: `Deleting environments that are not needed frees space: ${name} holds the most, ${bytesInWords(largest.bytes)}.`,
      metadata: { largest: name, largestBytes: String(largest.bytes) },
    }
  }

  async function checkDisk(account: Account, needed: number) {
    const shortage = await diskShortage(account, needed)
    if (!shortage) return
    const { message, details } = shortage
    throw new Problem('STORAGE_UNAVAILABLE', message, { ...details, retryAfterSeconds: RETRY_AFTER_SECONDS })
  }

  /** A build fails with DISK_FULL, and not with STORAGE_UNAVAILABLE. */
  const forBuilds: BuildSpace = {
    async forBuild({ id, accountId }, { archive }) {
      const account = await parts.accounts.requireById(parts.sql, accountId)
      const output = await parts.buildRetention.lastOutputBytes(accountId, id)
      await checkQuota(account, output)
      // Unpacked files are usually not smaller than the archive.
      const shortage = await diskShortage(account, archive.bytes + output)
      if (shortage) throw new Problem('DISK_FULL', shortage.message, shortage.details)
    },
    async toKeep({ accountId }, { bytes, files }) {
      await checkQuota(await parts.accounts.requireById(parts.sql, accountId), bytes, files)
    },
  }

  /** `output`: what the build that follows will write. */
  async function reserve(account: Account, bytes: number, output: number): Promise<SpaceReservation> {
    const check = async (more: number): Promise<number> => {
      await checkQuota(account, more + output)
      await checkDisk(account, 2 * more + output)
      return more
    }
    const mine = { accountId: account.id, bytes: await check(bytes) }
    reservations.add(mine)
    return {
      async cover(arrived) {
        if (arrived <= mine.bytes) return
        const exact = arrived - mine.bytes
        const step = Math.ceil(exact / STEP_BYTES) * STEP_BYTES
        // If a whole step does not fit any more, the bytes that have arrived may.
        mine.bytes += await check(step).catch(() => check(exact))
      },
      giveBack: () => void reservations.delete(mine),
    }
  }

  return {
    ...forBuilds,

    /** Reserves space for an archive of this size and its build. The caller gives it back when everything is written. */
    async forUpload(account: Account, environmentId: string, bytes: number): Promise<SpaceReservation> {
      return reserve(account, bytes, await parts.buildRetention.lastOutputBytes(account.id, environmentId))
    },

    /** The same for what is pushed to a repository: it is written once as it came, and once as git keeps it. */
    forPush: (account: Account, bytes: number): Promise<SpaceReservation> => reserve(account, bytes, 0),

    /** To be called when an archive is on the disk: it counts until it is removed, even if the upload fails. */
    received(account: Account, archive: SourceArchive) {
      parts.lingering.received(account.id, archive)
    },

    async forRebuild(account: Account, environmentId: string): Promise<void> {
      const output = await parts.buildRetention.lastOutputBytes(account.id, environmentId)
      await checkQuota(account, output)
      await checkDisk(account, output)
    },
  }
}

export type DiskSpace = ReturnType<typeof createDiskSpace>

const count = (files: number): string => files.toLocaleString('en')

const atLeast = (bytes: number): string => (bytes > 0 ? `about ${bytesInWords(bytes)}` : 'anything')
