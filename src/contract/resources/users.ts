/** The users of an account, and what users may change about themselves. */
import { LIMITS } from '../limits.ts'
import { role } from '../roles.ts'
import { object, oneOf, optional, type Static, string, time } from '../schema.ts'

export const USER_STATES = ['ACTIVE', 'INVITED'] as const
export type UserState = (typeof USER_STATES)[number]

const userFields = {
  name: string({ description: '`accounts/{account}/users/{user}`' }),
  email: string(),
  role,
  state: oneOf(USER_STATES, {
    description: '`INVITED` until an existing user has accepted the invitation: until then they have no access.',
  }),
  createTime: time('When the user was invited or added to the account.'),
}

export const user = object(userFields, { title: 'User', description: 'A person who logs in to the portal.' })
export type User = Static<typeof user>

export const newUser = object(
  {
    email: string({
      maxLength: LIMITS.emailLength,
      pattern: '^[^\\s@\\p{C}]+@[^\\s@\\p{C}]+$',
      'x-form': 'must be an e-mail address, such as name@example.com',
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
      string({ description: 'The password of a new user, shown only once. An existing user keeps theirs.' }),
    ),
  },
  { title: 'AddedUser' },
)

export const invitation = object(
  {
    name: string({ description: '`session/invitations/{invitation}`' }),
    account: string({ description: '`accounts/{account}`: the account that asks.' }),
    role,
    inviter: string({ description: 'E-mail address of the owner who asks; empty where a program did.' }),
    createTime: time('When the user was invited.'),
  },
  {
    title: 'Invitation',
    description: 'An account asks the user to join it. Until it is accepted, it gives no access.',
  },
)
export type Invitation = Static<typeof invitation>

export const changedUser = object({ role }, { title: 'ChangedUser' })

export const changedPassword = object(
  {
    password: string({ maxLength: LIMITS.maxPasswordLength, description: 'The current password.' }),
    newPassword: string({ minLength: LIMITS.minPasswordLength, maxLength: LIMITS.maxPasswordLength }),
  },
  { title: 'ChangedPassword' },
)
