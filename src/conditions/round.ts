/**
 * Looks for conditions that begin or are over, and records notices of them. The leader does it, in rounds, from what the service
 * knows already: nothing is asked of apps or of visitors. Only accounts that want to be told are looked at.
 */
import type { Accounts } from '../accounts/index.ts'
import { type Clock, type Log, repeat } from '../base/index.ts'
import type { ConditionRecords, Notices } from '../notices/index.ts'
import { LeadershipLost, type Sql, type Term, type Transaction } from '../storage/index.ts'
import { type CertificateFacts, failingCertificates } from './certificates.ts'
import { type Condition, type ConditionKind, changesOf, type OpenCondition } from './condition.ts'
import { createCrashLoops, type LiveApp } from './crash-loops.ts'
import { type AccountFill, type Fill, nearlyFullDisk, nearlyFullQuotas } from './nearly-full.ts'

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  accounts: Pick<Accounts, 'list'>
  notices: Pick<Notices, 'record' | 'over'>
  records: Pick<ConditionRecords, 'wanting' | 'open'>
  /** Names of accounts. */
  operatorAccounts: readonly string[]
  /** Of these accounts. */
  liveApps(accounts: readonly Account[]): Promise<LiveApp[]>
  certificates(): Promise<CertificateFacts[]>
  fillOf(account: Account): Promise<AccountFill>
  disk(): Promise<Fill & { host: string }>
  /** That of this process as the leader. */
  term: Pick<Term, 'check'>
}

type Account = { id: string; name: string }

/** States of apps are in memory. The rest is a query or a few for each account, and changes slowly. */
const FAST_MS = 10_000
const SLOW_ROUNDS = 30
/** Changes of one transaction. */
const BATCH = 50

export function createConditionRounds(parts: Parts) {
  const { sql, clock, log, notices, records, term } = parts
  const crashLoops = createCrashLoops()
  let rounds = 0

  async function accountsWanting(kind: ConditionKind): Promise<Account[]> {
    const wanting = await records.wanting(kind)
    if (wanting.size === 0) return []
    return (await parts.accounts.list()).filter(({ id }) => wanting.has(id)).map(({ id, name }) => ({ id, name }))
  }

  const openOf = async (kind: ConditionKind): Promise<OpenCondition[]> =>
    (await records.open(`${kind}/`)).map(({ accountId, dedupeKey }) => ({ accountId, key: dedupeKey }))

  const isOperators = ({ name }: Account): boolean => parts.operatorAccounts.includes(name)

  const LOOKS: Record<ConditionKind, (wanting: Account[], open: OpenCondition[]) => Promise<Condition[]>> = {
    APP_CRASH_LOOP: async (wanting, open) => crashLoops.conditions(await parts.liveApps(wanting), open, clock.now()),

    async CERTIFICATE_FAILING(wanting) {
      const ownersOf = ({ accountId }: CertificateFacts) =>
        wanting.filter((account) => (accountId === null ? isOperators(account) : account.id === accountId))
      return failingCertificates(await parts.certificates(), ownersOf, clock.now())
    },

    async DISK_NEARLY_FULL(wanting, open) {
      const operators = wanting.filter(isOperators)
      return operators.length === 0 ? [] : nearlyFullDisk(operators, await parts.disk(), open)
    },

    async QUOTA_NEARLY_FULL(wanting, open) {
      const found: Condition[] = []
      for (const account of wanting) found.push(...nearlyFullQuotas(account, await parts.fillOf(account), open))
      return found
    },
  }

  async function look(kind: ConditionKind) {
    const [wanting, open] = [await accountsWanting(kind), await openOf(kind)]
    if (wanting.length === 0 && open.length === 0) return
    const { begun, over } = changesOf(await LOOKS[kind](wanting, open), open)
    const changes = [
      ...over.map(
        ({ accountId, key }) =>
          (tx: Transaction) =>
            notices.over(tx, accountId, key),
      ),
      ...begun.map((one) => (tx: Transaction) => notices.record(tx, toNotice(one))),
    ]
    for (let at = 0; at < changes.length; at += BATCH) {
      await sql.transaction(async (tx) => {
        await term.check(tx)
        for (const change of changes.slice(at, at + BATCH)) await change(tx)
      })
    }
  }

  async function attempt(kind: ConditionKind) {
    try {
      await look(kind)
    } catch (error) {
      if (!(error instanceof LeadershipLost)) log.error({ err: error, kind }, 'conditions could not be looked at')
    }
  }

  /** `isWhole`: also what changes slowly. */
  async function round({ isWhole = true } = {}) {
    await attempt('APP_CRASH_LOOP')
    if (!isWhole) return
    await attempt('CERTIFICATE_FAILING')
    await attempt('DISK_NEARLY_FULL')
    await attempt('QUOTA_NEARLY_FULL')
  }

  return {
    round,

    /** Looks for as long as this process leads. */
    start: () => repeat(clock, FAST_MS, () => round({ isWhole: rounds++ % SLOW_ROUNDS === 0 }), { isImmediate: true }),
  }
}

const toNotice = ({ key, page, ...condition }: Condition) => ({ ...condition, dedupeKey: key, link: page })
