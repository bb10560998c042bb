import type { Command } from '../command.ts'
import { accountsCreate, accountsList } from './accounts.ts'
import { backup, restoreBackup } from './backup.ts'
import { serviceCertificates } from './certificates.ts'
import { clusterRevoke, clusterStatus, clusterToken, clusterTokens } from './cluster.ts'
import { cmsSet } from './cms.ts'
import { credentialsCreate } from './credentials.ts'
import { migrateDatabase } from './migrate-database.ts'
import { usersCreate, usersResetPassword } from './users.ts'

export const COMMANDS: readonly Command[] = [
  accountsCreate,
  accountsList,
  usersCreate,
  usersResetPassword,
  credentialsCreate,
  cmsSet,
  ...serviceCertificates,
  clusterToken,
  clusterRevoke,
  clusterTokens,
  clusterStatus,
  backup,
  restoreBackup,
  migrateDatabase,
]
