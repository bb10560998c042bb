/** A service with a public address, which limits no calls and logs everything, for the tests of this folder that share it. */
import { after } from 'node:test'
import { startService } from '../../support/service/service.ts'

export const PUBLIC_URL = 'https://headland.example'

export const service = await startService(
  { after },
  {
    settings: {
      HEADLAND_PUBLIC_URL: PUBLIC_URL,
      HEADLAND_CONCURRENCY: '2',
      HEADLAND_LOG_LEVEL: 'trace',
      HEADLAND_WEBHOOK_CALLS: '100000',
      HEADLAND_WEBHOOK_GUESSES: '100000',
    },
  },
)
