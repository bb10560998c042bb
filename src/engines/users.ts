/** The user that runs a tenant's program, or owns a tenant's file. */
import { checkTenantUid } from '../base/index.ts'
import type { Job } from './engine.ts'

/** The database is not trusted: root and the users of the machine itself are never accepted as a tenant. */
export function checkTenant<User extends Job['user']>(user: User): User {
  if (user !== undefined) for (const id of [user.uid, user.gid]) checkTenantUid(id)
  return user
}
