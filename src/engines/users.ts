/** The users of tenants: one for each environment, out of a range that nothing else of a machine uses. */
import type { Job } from './engine.ts'

export const TENANT_USERS = { first: 200_000, last: 2_000_000_000 } as const

/**
 * Called before a program is started as a user, or a file is given to one. A row of the database is not believed: root and
 * the users of the machine itself are never a tenant.
 */
export function checkTenant<User extends Job['user']>(user: User): User {
  if (user === undefined) return user
  for (const id of [user.uid, user.gid]) {
    if (!Number.isSafeInteger(id) || id < TENANT_USERS.first || id > TENANT_USERS.last) {
      throw new Error(
        `${id} is not the user of an environment: those are ${TENANT_USERS.first} to ${TENANT_USERS.last}. The database was changed by something else than the service; restore it from a backup that you trust.`,
      )
    }
  }
  return user
}
