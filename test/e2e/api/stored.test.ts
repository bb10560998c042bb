/** What the API reads from and writes to the database, on one service. `npm run test:postgres` runs it on PostgreSQL as well. */
import { suite } from 'node:test'

suite('the API and its database', async () => {
  await import('./all-environments.ts')
  await import('./etags.ts')
  await import('./tenancy.ts')
})
