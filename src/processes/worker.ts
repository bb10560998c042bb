/**
 * The process of a worker: it claims operations and does all of their steps, and builds under the agent beside it. It has no API
 * and no edges, and does not lead.
 */
import { createLog } from '../base/index.ts'
import { filesIn } from '../data-files.ts'
import {
  answerGit,
  assembleGit,
  assembleRequests,
  assembleServing,
  createAdmission,
  createDeploying,
  createFetching,
  openState,
  startOperations,
} from '../service/index.ts'
import { buildForSwarm } from '../service/on-swarm.ts'
import type { Config } from '../settings.ts'
import { createTrafficPaths } from '../traffic/index.ts'
import { watchStalls } from '../watchdog/index.ts'
import { createChildLife } from './child.ts'
import type { ControlBegin } from './control.ts'

/** Together less than the 30 seconds within which a stop is promised. */
const GRACE_MS = { worker: 10_000, fetches: 5_000, git: 5_000, retention: 2_000 }

export async function runWorkerProcess(config: Config) {
  const life = createChildLife<ControlBegin, Record<string, never>>({ endsAtSigterm: true })
  const begin = await life.begin
  const started = new AsyncDisposableStack()
  try {
    const mayWork = begin.isReload ? life.takeOverRequested : Promise.resolve()
    await start({ config, begin, started, mayWork, onDeath: life.fail })
    life.ready({})
    mayWork.then(life.tookOver)
    await life.stopRequested
  } finally {
    await started.disposeAsync()
  }
  life.leave()
}

type Parts = {
  config: Config
  begin: ControlBegin
  started: AsyncDisposableStack
  /** Operations are not begun before. */
  mayWork: Promise<void>
  onDeath(error: Error): void
}

async function start({ config, begin, started, mayWork, onDeath }: Parts): Promise<void> {
  const files = filesIn(config.dataDir)
  const log = createLog(config.logLevel, config.logFormat)
  const state = await openState({ config, files, log, started, isReload: begin.isReload, onDeath })
  const { database, records, stores } = state
  const appParts = { config, files, log, state, started, edgePort: begin.edge.port }
  const { machine, hosting, retention, live, appVariables } = await buildForSwarm(appParts)
  started.defer(() => live.routing.stop())
  const parts = { config, log, database, machine, records, stores, hosting }
  const { sql, clock, environments } = database
  // Other processes count visits, and write them to the database.
  const { mostVisited } = createTrafficPaths({ sql, clock, existingEnvironments: environments.existing })
  const deploying = createDeploying({ ...parts, appVariables, live, retention, mostVisited })
  const { handlers, onEnd } = deploying
  const admission = createAdmission({ config, database, machine, retention })
  const { checkIsolation } = admission
  const building = onlyIf(checkIsolation, handlers)
  const worker = startOperations({ config, log, database, handlers: building, onEnd, mayWork, isBuilding: true })
  started.defer(() => worker.stop(GRACE_MS.worker))
  const { previews } = assembleRequests({ ...parts, live, deploying, admission })
  const gitModules = assembleGit({ ...parts, files, deploying, admission, previews })
  const { branches } = gitModules
  const fetching = createFetching({ ...parts, files, deploying, admission, retention, branches })
  started.defer(() => fetching.stop(GRACE_MS.fetches))
  mayWork.then(() => fetching.start())
  const stopping = new AbortController()
  started.defer(() => stopping.abort())
  const serve = assembleServing({ ...parts, ...gitModules, retention }, stopping.signal)
  const { vault } = state
  const answering: { git?: ReturnType<typeof answerGit> } = {}
  mayWork.then(() => {
    if (!stopping.signal.aborted) answering.git = answerGit({ config, log, vault, serve })
  })
  started.defer(() => answering.git?.stop(AbortSignal.timeout(GRACE_MS.git)))
  retention.start()
  started.defer(() => retention.stop(GRACE_MS.retention))
  started.defer(
    watchStalls((stall) => {
      if (stall.ms >= config.stallWarning) log.warn({ process: 'worker', ...stall }, 'the event loop stood still')
    }),
  )
}

type Handlers = ReturnType<typeof createDeploying>['handlers']

/** The control process that took the request does not know what this machine can keep apart. */
function onlyIf(check: () => Promise<void>, handlers: Handlers): Handlers {
  const checked =
    (handler: Handlers['UPLOAD']): Handlers['UPLOAD'] =>
    async (operation, work) => {
      await check()
      return handler(operation, work)
    }
  const { UPLOAD, REBUILD, CLEAN_REBUILD } = handlers
  return { ...handlers, UPLOAD: checked(UPLOAD), REBUILD: checked(REBUILD), CLEAN_REBUILD: checked(CLEAN_REBUILD) }
}
