/** The service that tests of this folder share, where they need no settings: a process of tests starts one. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { newestFirst } from '../../support/e2e/newest-first.ts'
import { startService } from '../../support/service/service.ts'

const scope = newestFirst({ after })

/** Always the one that runs. */
export let service = await startService(scope)

/** Ends it, and starts it again on its data. */
export async function restart(end: 'stop' | 'kill') {
  if (end === 'stop') assert.equal(await service.stop(), 0)
  else await service.kill()
  service = await startService(scope, { dataDir: service.dataDir })
}
