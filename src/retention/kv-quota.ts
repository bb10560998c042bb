/**
 * Whether the key-value store of an environment may grow: it counts towards the quota of the account. The usage of the account
 * is only read now and then, as apps write hundreds of values a second; in between, what they write is counted here. These
 * counts are dropped once the folder of the environment was measured after them.
 */
import type { Environments } from '../apps/index.ts'
import type { Clock } from '../base/index.ts'
import type { Size } from '../builds/index.ts'
import type { Figures } from './figures.ts'
import type { Usage } from './usage.ts'

type Parts = {
  clock: Clock
  environments: Pick<Environments, 'ownerOf'>
  usage: Pick<Usage, 'sizeOf'>
  figures: Pick<Figures, 'read'>
  /** 0 for no limit. */
  accountBytes: number
  accountFiles: number
}

/** What was written between two reads of the account's usage. */
type Growth = Size & { lastTime: number }
type Budget = { left: Size; readTime: number }

const READ_MS = 60_000
/** After a refusal the usage is read again sooner, as the tenant may have freed space. */
const READ_AGAIN_MS = 5_000
/** Folders are measured every hour, so older counts are certainly included. */
const MEASURED_WITHIN_MS = 2 * 60 * 60_000
/** Environments whose account is remembered. */
const MAX_OWNERS = 10_000

export function createKvQuota({ clock, environments, usage, figures, accountBytes, accountFiles }: Parts) {
  const budgets = new Map<string, Budget>()
  /** By environment, and within it the newest last. */
  const grown = new Map<string, { accountId: string; growths: Growth[] }>()
  const owners = new Map<string, string>()
  const isUnlimited = accountBytes === 0 && accountFiles === 0

  async function ownerOf(environmentId: string): Promise<string | undefined> {
    const known = owners.get(environmentId)
    if (known !== undefined) return known
    const found = await environments.ownerOf(environmentId)
    if (owners.size >= MAX_OWNERS) owners.clear()
    if (found !== undefined) owners.set(environmentId, found)
    return found
  }

  /** The growth of an account's stores that no measurement includes yet. */
  async function unmeasured(accountId: string): Promise<Size> {
    const sum = { bytes: 0, files: 0 }
    const mine = [...grown].filter(([, { accountId: owner }]) => owner === accountId)
    if (mine.length === 0) return sum
    const runs = (await figures.read(accountId)).filter(({ kind }) => kind === 'RUNS')
    const times = new Map(runs.map(({ environmentId, measureTime }) => [environmentId, measureTime]))
    for (const [environmentId, entry] of mine) {
      const since = Math.max(times.get(environmentId) ?? 0, clock.now() - MEASURED_WITHIN_MS)
      entry.growths = entry.growths.filter(({ lastTime }) => lastTime > since)
      if (entry.growths.length === 0) grown.delete(environmentId)
      for (const { bytes, files } of entry.growths) {
        sum.bytes += bytes
        sum.files += files
      }
    }
    return sum
  }

  async function readBudget(accountId: string): Promise<Budget> {
    const [measured, more] = [await usage.sizeOf(accountId), await unmeasured(accountId)]
    const left = {
      bytes: accountBytes === 0 ? Number.POSITIVE_INFINITY : accountBytes - measured.bytes - more.bytes,
      files: accountFiles === 0 ? Number.POSITIVE_INFINITY : accountFiles - measured.files - more.files,
    }
    const budget = { left, readTime: clock.now() }
    if (budgets.size >= MAX_OWNERS) budgets.clear()
    budgets.set(accountId, budget)
    return budget
  }

  function note(environmentId: string, accountId: string, { bytes, files }: Size, budget: Budget) {
    budget.left.bytes -= bytes
    budget.left.files -= files
    const entry = grown.get(environmentId) ?? { accountId, growths: [] }
    grown.set(environmentId, entry)
    const last = entry.growths.at(-1)
    if (!last || last.lastTime < budget.readTime) {
      entry.growths.push({ bytes, files, lastTime: clock.now() })
      return
    }
    last.bytes += bytes
    last.files += files
    last.lastTime = clock.now()
  }

  return {
    unmeasured,

    /** Counts the growth if it fits, and resolves to whether it does. A change that shrinks the store always fits. */
    async take(environmentId: string, growth: Size): Promise<boolean> {
      if (isUnlimited) return true
      const accountId = await ownerOf(environmentId)
      // The environment is being deleted, and its values with it.
      if (accountId === undefined) return true
      const fits = ({ left }: Budget) =>
        (growth.bytes <= 0 || growth.bytes <= left.bytes) && (growth.files <= 0 || growth.files <= left.files)
      const known = budgets.get(accountId)
      const age = clock.now() - (known?.readTime ?? Number.NEGATIVE_INFINITY)
      const isGood = known !== undefined && age < (fits(known) ? READ_MS : READ_AGAIN_MS)
      const budget = isGood ? known : await readBudget(accountId)
      if (!fits(budget)) return false
      note(environmentId, accountId, growth, budget)
      return true
    },
  }
}

export type KvQuota = ReturnType<typeof createKvQuota>
