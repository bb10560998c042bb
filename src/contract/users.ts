/** The users of an account, and what a user may change by themselves. */
import { LIMITS } from './limits.ts'
import { role } from './roles.ts'
import { object, optional, type Static, string, time } from './schema.ts'

const userFields = {
  name: string({ description: '`accounts/{account}/users/{user}`' }),
  email: string(),
  role,
  createTime: time('When the user was added to the account.'),
}

export const user = object(userFields, { title: 'User', description: 'Somebody who logs in to the portal.' })
export type User = Static<typeof user>

export const newUser = object(
  {
    email: string({
      maxLength: LIMITS.emailLength,
      pattern: '^[^\\s@\\p{C}]+@[^\\s@\\p{C}]+$',
      description: 'An e-mail address. Upper and lower case are the same.',
    }),
    role,
  },
  { title: 'NewUser' },
)

export const addedUser = object(
  {
    ...userFields,
    password: optional(
      string({ description: 'Of a new user, shown this once. One who has a password already keeps it.' }),
    ),
  },
  { title: 'AddedUser' },
)

export const changedUser = object({ role }, { title: 'ChangedUser' })

export const changedPassword = object(
  {
    password: string({ maxLength: LIMITS.passwordLengthMost, description: 'The one that it is now.' }),
    newPassword: string({ minLength: LIMITS.passwordLengthLeast, maxLength: LIMITS.passwordLengthMost }),
  },
  { title: 'ChangedPassword' },
)
