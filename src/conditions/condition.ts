/** Conditions that last, such as a full disk: teams are told once when one begins, and again only after it was over. */

export type ConditionKind = 'APP_CRASH_LOOP' | 'CERTIFICATE_FAILING' | 'DISK_NEARLY_FULL' | 'QUOTA_NEARLY_FULL'

export type Condition = {
  kind: ConditionKind
  accountId: string
  /** Names it among those of its account. Begins with the kind. */
  key: string
  appName?: string
  environmentId?: string
  /** The name of the resource that it is about. */
  resource: string
  title: string
  text: string
  /** The page of the portal, as a path. */
  page: string
}

/** One that teams were told of, and that is not over. */
export type OpenCondition = Pick<Condition, 'accountId' | 'key'>

const nameOf = ({ accountId, key }: OpenCondition): string => `${accountId} ${key}`

/** What has begun and what is over, given what there is now. */
export function changesOf(found: readonly Condition[], open: readonly OpenCondition[]) {
  const [now, before] = [new Set(found.map(nameOf)), new Set(open.map(nameOf))]
  return {
    begun: found.filter((one) => !before.has(nameOf(one))),
    over: open.filter((one) => !now.has(nameOf(one))),
  }
}

/** Whether a condition of this account is open. */
export const isOpen = (open: readonly OpenCondition[], accountId: string, key: string): boolean =>
  open.some((one) => one.accountId === accountId && one.key === key)
