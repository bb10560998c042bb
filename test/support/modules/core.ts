/** Accounts, apps and operations on a real database, with a clock that the test moves. */
import {
  createAccounts,
  createCredentials,
  createInvitations,
  createMembers,
  createSessions,
  createUsers,
} from '../../../src/accounts/index.ts'
import { createApps, createEnvironments, notifyBelow } from '../../../src/apps/index.ts'
import { createIds } from '../../../src/base/index.ts'
import { readArchives } from '../../../src/builds/index.ts'
import { createOperations } from '../../../src/operations/index.ts'
import { handClock } from '../clock.ts'
import type { Scope } from '../folder.ts'
import { migratedSql } from '../sql.ts'

export async function openCoreModules(t: Scope) {
  const sql = await migratedSql(t)
  const clock = handClock()
  const parts = { sql, clock, newId: createIds(clock) }
  const accounts = createAccounts(parts)
  return {
    ...parts,
    notifyBelow,
    accounts,
    users: createUsers({ ...parts, accounts }),
    credentials: createCredentials(parts),
    members: createMembers(parts),
    invitations: createInvitations(parts),
    sessions: createSessions(parts),
    apps: createApps(parts),
    environments: createEnvironments(parts),
    operations: createOperations({ ...parts, readDescriptions: readArchives }),
  }
}
