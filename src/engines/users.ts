/** The user that a program of a tenant is started as, or a file is given to. */
import { checkTenantUid } from '../base/index.ts'
import type { Job } from './engine.ts'

/** A row of the database is not believed: root and the users of the machine itself are never a tenant. */
export function checkTenant<User extends Job['user']>(user: User): User {
  if (user !== undefined) for (const id of [user.uid, user.gid]) checkTenantUid(id)
  return user
}
