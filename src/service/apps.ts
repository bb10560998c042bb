/** What runs apps, what they may keep, and what is live: put together, whichever engine runs them. */
import type { Log } from '../base/index.ts'
import type { Edges } from '../edge/index.ts'
import type { Machine } from '../machine.ts'
import type { Instances } from '../runtime/index.ts'
import type { Config } from '../settings.ts'
import { type AppVariables, type Hosting, openHosting } from './hosting.ts'
import { createLive, type Live } from './live.ts'
import { assembleRetention, type Retention } from './retention.ts'
import type { State } from './state.ts'

type Parts = {
  config: Config
  log: Log
  state: State
  started: AsyncDisposableStack
  machine: Machine
  instances: Instances
  edges: Pick<Edges, 'leaseMs' | 'purge' | 'setRoutes' | 'serving' | 'onConnected' | 'routed' | 'untilOthersRouted'> &
    Partial<Pick<Edges, 'controlCount'>>
  /** The port at which visitors reach the edges. */
  edgePort: number
  /** The variables that apps get, among them where they reach the service. */
  openVariables(hosting: Hosting): Promise<AppVariables>
}

export type Apps = { hosting: Hosting; retention: Retention; live: Live; appVariables: AppVariables }

export async function assembleApps(parts: Parts): Promise<Apps> {
  const { config, log, state, started, machine, instances, edges, edgePort, openVariables } = parts
  const { database, records, stores } = state
  const hosting = await openHosting({
    config,
    log,
    database,
    machine,
    instances,
    edges,
    records,
    stores,
    // No app runs before `retention` is made below, so none asks for space earlier.
    admitKvGrowth: (environmentId, growth) => retention.kvQuota.take(environmentId, growth),
  })
  started.defer(() => hosting.inApp.close())
  const common = { config, log, database, machine, records, stores, hosting }
  const retention = assembleRetention({
    ...common,
    // Its rounds begin after `live` is made below.
    tendEarlierFiles: (environmentId) => live.earlierFiles.tend(environmentId),
  })
  const appVariables = await openVariables(hosting)
  const live = createLive({ ...common, edges, edgePort, appVariables })
  return { hosting, retention, live, appVariables }
}
