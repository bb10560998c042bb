/**
 * Builds and what comes of them, on one service: one for each of these files would cost more than most of their tests. All of
 * them are set up before the first test runs. Each file also runs alone.
 */
import { suite } from 'node:test'

suite('builds', async () => {
  // The first ones start the service again, and all apps that run on it.
  await import('./examples.ts')
  await import('./variable-kinds.ts')
  await import('./caches.ts')
  await import('./no-lockfile.ts')
  await import('./traps.ts')
})
