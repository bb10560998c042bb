/** The service that tests of this folder share, where they need no settings: a process of tests starts one. */
import { after } from 'node:test'
import { startService } from '../../support/service/service.ts'

export const service = await startService({ after })
