/** Disks and quotas that are nearly full: pure. */
import { bytesInWords } from '../base/index.ts'
import { names, type resources } from '../contract/index.ts'
import { type Condition, isOpen, type OpenCondition } from './condition.ts'

/** It begins at one share and is over below a lower one, so that what goes up and down in between is told once. */
const BEGINS_AT = 0.9
const OVER_BELOW = 0.85

export type Fill = { used: number; limit: number }

/** A limit of 0 is none. */
export const isNearlyFull = ({ used, limit }: Fill, wasOpen: boolean): boolean =>
  limit > 0 && used / limit >= (wasOpen ? OVER_BELOW : BEGINS_AT)

type Account = { id: string; name: string }

/** What is counted besides is of the moment: apps that sleep, builds that end. */
const LASTING: ReadonlySet<resources.Counted['kind']> = new Set(['APPS', 'ENVIRONMENTS', 'DOMAINS', 'CREDENTIALS'])

const WORDS: Partial<Record<resources.Counted['kind'], string>> = {
  APPS: 'apps',
  ENVIRONMENTS: 'environments',
  DOMAINS: 'domains',
  CREDENTIALS: 'API keys',
}

export type AccountFill = {
  bytes: Fill
  files: Fill
  counted: readonly Pick<resources.Counted, 'kind' | 'used' | 'limit'>[]
}

export function nearlyFullQuotas(account: Account, fill: AccountFill, open: readonly OpenCondition[]): Condition[] {
  const all: (Fill & { id: string; words: string; inWords(amount: number): string })[] = [
    { ...fill.bytes, id: 'bytes', words: 'its storage', inWords: bytesInWords },
    { ...fill.files, id: 'files', words: 'its files and folders', inWords: inFigures },
    ...fill.counted
      .filter(({ kind }) => LASTING.has(kind))
      .map(({ kind, used, limit }) => ({ used, limit, id: kind, words: `its ${WORDS[kind]}`, inWords: inFigures })),
  ]
  return all.flatMap(({ id, words, inWords, ...one }) => {
    const key = `QUOTA_NEARLY_FULL/${id}`
    if (!isNearlyFull(one, isOpen(open, account.id, key))) return []
    return {
      kind: 'QUOTA_NEARLY_FULL',
      accountId: account.id,
      key,
      resource: names.accountUsageResource(account.name),
      title: `Quota nearly full: ${account.name}`,
      text: `The account uses ${inWords(one.used)} of ${inWords(one.limit)} of ${words}, ${percentOf(one)} %. What goes beyond is refused. Delete what is not needed any more, or ask the operator for more.`,
      page: `/${account.name}/usage`,
    }
  })
}

/** Of the bytes that may be used, without those that are kept free. */
export const diskFill = ({ total, free, reserve }: { total: number; free: number; reserve: number }): Fill => ({
  used: total - free,
  limit: Math.max(1, total - reserve),
})

/** Told to each account of operators. */
export function nearlyFullDisk(
  operators: readonly Account[],
  fill: Fill & { host: string },
  open: readonly OpenCondition[],
): Condition[] {
  const key = `DISK_NEARLY_FULL/${fill.host}`
  return operators.flatMap(({ id, name }) => {
    if (!isNearlyFull(fill, isOpen(open, id, key))) return []
    return {
      kind: 'DISK_NEARLY_FULL',
      accountId: id,
      key,
      resource: names.accountResource(name),
      title: `Disk nearly full: ${fill.host}`,
      text: `The data folder on ${fill.host} uses ${bytesInWords(fill.used)} of ${bytesInWords(fill.limit)} that may be used, ${percentOf(fill)} %. When it is full, uploads and builds are refused; sites stay up.`,
      page: `/${name}/usage`,
    }
  })
}

const percentOf = ({ used, limit }: Fill): number => Math.floor((100 * used) / limit)
const inFigures = (amount: number): string => amount.toLocaleString('en')
