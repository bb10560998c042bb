/** Apps that sleep, and the cache that answers for them, on one service. Each file also runs alone. */
import { suite } from 'node:test'

suite('the cache and apps that sleep', async () => {
  await import('./cache.ts')
  await import('./idle.ts')
})
