/** What the package gives to programs, on one service: the client of the API, and the server for coding agents. */
import { suite } from 'node:test'

suite('clients of the API', async () => {
  await import('./library.ts')
  await import('./agents.ts')
  await import('./protocol.ts')
})
