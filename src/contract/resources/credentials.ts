/** Credentials of programs, for Basic authentication. */
import * as names from '../names.ts'
import { role } from '../roles.ts'
import { object, optional, type Static, string, time } from '../schema.ts'

export const newCredential = object(
  { role: optional(role), displayName: optional(names.displayName) },
  { title: 'NewCredential', description: '`role` is `developer` unless given.' },
)

const credentialFields = {
  name: string({ description: '`accounts/{account}/credentials/{credential}`' }),
  userId: string({ description: 'User name for Basic authentication.' }),
  displayName: string(),
  role,
  createTime: time('When it was created.'),
}
export const credential = object(credentialFields, { title: 'Credential' })
export type Credential = Static<typeof credential>

export const issuedCredential = object(
  { ...credentialFields, password: string({ description: 'Shown this once.' }) },
  { title: 'IssuedCredential' },
)
