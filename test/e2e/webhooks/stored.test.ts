/** Webhooks and what the database keeps of them, on one service. `npm run test:postgres` runs them on PostgreSQL as well. Each file also runs alone. */
import { suite } from 'node:test'

suite('webhooks', async () => {
  await import('./reads.ts')
  await import('./webhooks.ts')
})
