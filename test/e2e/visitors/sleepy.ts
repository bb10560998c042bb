/** A service whose apps soon sleep, for the tests of this folder that share it. */
import { after } from 'node:test'
import { startService } from '../../support/service/service.ts'

export const service = await startService({ after }, { settings: { HEADLAND_IDLE_TIMEOUT: '2' } })
