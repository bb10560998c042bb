/** A page of environments costs the same however many the app has. */
import type { Bench } from './bench.ts'
import { inTurns, TURNS } from './rounds.ts'
import { ACCOUNT, seedEnvironments } from './seed.ts'
import { logIn, startService, temporaryFolder } from './service.ts'

const MANY = 10_000
const FEW = 10

export const listEnvironments: Bench = {
  name: 'list-environments',
  what: `a page of 10 environments of an app with ${MANY}, beside one of an app with ${FEW}`,
  noise: TURNS,
  async run() {
    await using folder = await temporaryFolder()
    await seedEnvironments(folder.path, { few: FEW, many: MANY })
    await using service = await startService(folder.path)
    const headers = await logIn(folder.path, { account: ACCOUNT })
    const pageOf = (app: string) => ({
      url: `${service.api}/v1/accounts/${ACCOUNT}/apps/${app}/environments?pageSize=10`,
      pid: service.controlPid,
      headers,
    })
    const { many, few } = await inTurns({ many: pageOf('many'), few: pageOf('few') }, { connections: 32 })
    return [
      {
        what: 'CPU per request',
        unit: 'µs',
        ours: many.cpuMicrosecondsPerRequest,
        peer: few.cpuMicrosecondsPerRequest,
        goal: { of: 'ratio', max: 2 },
      },
      {
        what: 'requests',
        unit: '/s',
        ours: many.requestsPerSecond,
        peer: few.requestsPerSecond,
        goal: { of: 'ratio', min: 0.5 },
      },
    ]
  },
}
