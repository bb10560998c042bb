/** Apps on a real swarm of three engines, which the files of this folder use one after the other. Each of them also runs alone. */
import { before } from 'node:test'

const loading = Promise.withResolvers<void>()
// What they share ends when no test is left, so the last file is there before the first test begins.
before(() => loading.promise)
try {
  await import('./apps/deaths.test.ts')
  await import('./apps/life.test.ts')
  await import('./apps/task-logs.test.ts')
  await import('./apps/rows.test.ts')
  await import('./apps/scaling.test.ts')
  await import('./apps/outputs.test.ts')
} finally {
  loading.resolve()
}
