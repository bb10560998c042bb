/** The machine of a control process whose builds are on workers and whose apps are on a swarm: it runs no program of a tenant. */
import { limitsOf, type Machine } from './machine.ts'
import type { Config } from './settings.ts'

const ELSEWHERE = 'on the machines with the role worker'

function refuse(): never {
  throw new Error('this process runs no programs of tenants')
}

export const machineWithoutPrograms = (config: Config): Machine => ({
  engine: { isIsolating: true, overlayMissing: undefined, description: ELSEWHERE, limits: ELSEWHERE, start: refuse },
  networks: undefined,
  toolchains: {
    own: refuse,
    resolve: refuse,
    open: refuse,
    adapters: { take: refuse },
    collect: async () => [],
    sweep: async () => undefined,
  },
  canChooseUsers: false,
  limits: limitsOf(config),
  // A worker that cannot keep accounts apart refuses their builds itself.
  isolation: { sandbox: ELSEWHERE, layers: ELSEWHERE, limits: ELSEWHERE, network: ELSEWHERE, weaknesses: [] },
  close: () => undefined,
})
