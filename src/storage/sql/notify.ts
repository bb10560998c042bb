import type { Transaction } from './sql.ts'

/**
 * Reports changes below an environment, each by its name: `builds/…`, or an empty name for the environment itself. Followers of
 * the account receive them once the transaction is committed. Returns false, and reports nothing, if the environment is gone.
 * `apps/` implements it for modules that know an environment by its id alone.
 */
export type NotifyBelow = (tx: Transaction, environmentId: string, ...below: readonly string[]) => Promise<boolean>
