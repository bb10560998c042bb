/**
 * What a service knows of visits, and what apps ask of it, on one service: one for each of these files would cost more than
 * their tests. All of them are set up before the first test runs. Each file also runs alone.
 */
import { suite } from 'node:test'

suite('visits', async () => {
  await import('./trace.ts')
  await import('./traffic.ts')
  await import('./requests.ts')
  await import('./app-api.ts')
  await import('./purge-history.ts')
  // It starts the service again, with other settings.
  await import('./restart.ts')
})
