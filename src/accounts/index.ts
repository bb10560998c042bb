export { type Account, type Accounts, createAccounts } from './accounts.ts'
export { type Credential, type Credentials, createCredentials } from './credentials.ts'
export { createSessions, type Session, type Sessions } from './sessions.ts'
export { createUsers, type Membership, type User, type Users } from './users.ts'
