/** Makes accounts as the operator's commands do, but in this process: a command costs more than most tests, and has its own. */
import { createAccounts, createUsers } from '../../../src/accounts/index.ts'
import { createIds, systemClock } from '../../../src/base/index.ts'
import type { TestService } from '../service/service.ts'

type Given = {
  /** The e-mail address of a user who owns it. Without one it has no users. */
  owner?: string
}

export async function makeAccount(service: TestService, name: string, { owner }: Given = {}) {
  const sql = await service.openSql()
  try {
    const parts = { sql, clock: systemClock, newId: createIds(systemClock) }
    const accounts = createAccounts(parts)
    await accounts.create(name)
    if (owner !== undefined) await createUsers({ ...parts, accounts }).create(owner, name, 'owner')
  } finally {
    await sql.close()
  }
}
