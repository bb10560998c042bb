/** Whether a build may begin: the machine must keep accounts apart, and there must be space on the disk. */
import type { Account } from '../accounts/index.ts'
import { Problem } from '../contract/index.ts'
import type { Database } from '../data-folder.ts'
import type { Machine } from '../machine.ts'
import type { Config } from '../settings.ts'
import type { Retention } from './retention.ts'

type Parts = { config: Config; database: Database; machine: Machine; retention: Retention }

export function createAdmission({ config, database, machine, retention }: Parts) {
  async function checkIsolation() {
    const { weaknesses } = machine.isolation
    if (weaknesses.length === 0 || config.weakIsolation || (await database.accounts.list()).length < 2) return
    throw new Problem('ISOLATION_MISSING', `This machine cannot keep accounts apart: ${weaknesses.join('; ')}.`)
  }

  async function admitBuild(account: Account, environmentId: string) {
    await checkIsolation()
    await retention.diskSpace.forRebuild(account, environmentId)
  }

  return { checkIsolation, admitBuild }
}

export type Admission = ReturnType<typeof createAdmission>
