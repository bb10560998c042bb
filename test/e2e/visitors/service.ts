/** The service that tests of this folder share, where they need no settings: a process of tests starts one. */
import { after } from 'node:test'
import { newestFirst } from '../../support/e2e/newest-first.ts'
import { startService } from '../../support/service/service.ts'

const scope = newestFirst({ after })

/** Always the one that runs. */
export let service = await startService(scope)

/** Ends it, and starts it again on its data. Resolves to the exit code, if it was stopped. */
export async function restart(end: 'stop' | 'kill', settings: Record<string, string> = {}) {
  const code = await service[end]()
  service = await startService(scope, { dataDir: service.dataDir, settings })
  return code
}
