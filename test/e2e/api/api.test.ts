/**
 * The API on one service: a service of its own for each of these files would cost more than their tests. All of them are set
 * up before the first test runs. Each file also runs alone.
 */
import { suite } from 'node:test'

suite('the API', async () => {
  // Its last test reads the log of the service, in which others leave faults.
  await import('./bad-input.ts')
  await import('./openapi.ts')
  await import('./portal.ts')
  await import('./badge.ts')
  await import('./examples.ts')
  await import('./schedules.ts')
  await import('./people.ts')
  await import('./events.ts')
  await import('./audit.ts')
  await import('./restart.ts')
})
