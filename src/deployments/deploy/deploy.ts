/**
 * All steps from an archive to live traffic, for Upload, Rebuild and Clean Rebuild. Activate and a change of variables begin
 * where a deployment is started. A build with the same output as the live one ends without a switch. A failure before the
 * switch leaves the environment as it was. A rebuild with a suspicious output is held: it is kept, and not switched to. If the
 * process dies, the steps begin again, and those whose result is recorded are not repeated.
 */
import type { Accounts } from '../../accounts/index.ts'
import type { Environment, Environments } from '../../apps/index.ts'
import type { Clock, Log } from '../../base/index.ts'
import {
  type Build,
  type Builds,
  diagnosePhase,
  endpointsAsked,
  type Failure,
  hostsAsked,
  type Outputs,
  removeWorkspace,
  type Sources,
  toFailure,
} from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Endpoint } from '../../engines/index.ts'
import { type Finish, type Handler, isCancelled, type OperationRecord } from '../../operations/index.ts'
import {
  isDatabaseAway,
  isStoreAway,
  type LineLog,
  type LineLogs,
  type Sql,
  type Transaction,
  toStorageProblem,
} from '../../storage/index.ts'
import type { Blame } from '../blame.ts'
import type { Folders } from '../folders.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Retries } from '../records/retries.ts'
import type { BuildRequests } from '../requests/request-build.ts'
import type { GetAppVariables } from './app-variables.ts'
import type { CacheCopies } from './cache-copies.ts'
import type { ImageSteps } from './image.ts'
import { adviceOn, heldProblem, type Inspect, type Inspected } from './inspect.ts'
import type { Launcher } from './launch.ts'
import type { PrepareImage } from './make.ts'
import { createProgress, type Progress } from './progress.ts'
import type { BeginSuccession } from './succession.ts'
import { endpointsToAsk } from './suspicion.ts'
import type { Switch } from './switch.ts'

export const buildLogName = (buildId: string): string => `builds/${buildId}`

const NONE_EARLIER = 'As the build is clean, no files of earlier deployments are served any more.'

const BUILD_LOG_BYTES = 32 * 1024 * 1024

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  builds: Builds
  sources: Pick<Sources, 'uploadCancelled'>
  environments: Environments
  deployments: Deployments
  outputs: Pick<Outputs, 'has'>
  launcher: Launcher
  switching: Switch
  beginSuccession: BeginSuccession
  folders: Folders
  logs: LineLogs
  appVariables: GetAppVariables
  retries: Retries
  inspect: Inspect
  accounts: Pick<Accounts, 'requireById'>
  buildRequests: Pick<BuildRequests, 'handOn'>
  /** Whether the build will run a program of the app, going by the files of its archive. */
  needsPrograms(environment: Environment, build: Build): Promise<boolean>
  /** From the archive to a stored output. */
  make(environment: Environment, build: Build, progress: Progress, image: PrepareImage): Promise<Build>
  blame: Blame
  imageSteps: Pick<ImageSteps, 'begin'>
  cacheCopies: Pick<CacheCopies, 'save'>
  /** The environment as the operation's response shows it. */
  finishWithEnvironment(operation: OperationRecord): Finish
}

/** What the end of a build records beside its state. */
type Outcome = {
  failure?: Failure | null
  isUnchanged?: boolean
  inspected?: Inspected
  /** The servers that must answer before it is built again. */
  spoilt?: Endpoint[] | undefined
}

export function createDeploy(parts: Parts): Handler {
  const { sql, clock, builds, environments, deployments, launcher, switching, folders, logs } = parts

  return async function deploy(operation, work) {
    const environment = await environments.byId(sql, operation.environmentId)
    const build = await builds.ofOperation(sql, operation.id)
    if (!environment || !build) return async () => ({ error: new Problem('ENVIRONMENT_NOT_FOUND') })
    const path = { accountId: environment.accountId, environmentId: environment.id }
    if (work.queue === 'light' && !isCancelled(work) && (await parts.needsPrograms(environment, build))) {
      const account = await parts.accounts.requireById(sql, environment.accountId)
      return (tx) => parts.buildRequests.handOn(tx, account, operation)
    }
    await using _succession = await parts.beginSuccession(environment.id)
    const log = await logs.create(buildLogName(build.id), {
      secrets: (await parts.appVariables(environment, environment.variables, build.id, 'build')).secrets,
      whenFull: 'stop',
      maxBytes: BUILD_LOG_BYTES,
    })
    const progress = createProgress(build, { clock, builds, log, work })
    try {
      if (isCancelled(work)) throw work.signal.reason
      await builds.begin(build.id)
      // An output that is recorded but missing was lost when the process died before it was moved into place.
      const isMade = build.output !== null && (await parts.outputs.has(build.output))
      await using image = parts.imageSteps.begin(environment, progress)
      const finished = isMade ? build : await parts.make(environment, build, progress, image)
      await image.publish(finished)
      const inspected = await parts.inspect(environment, finished, work.signal)
      if (await switching.stay(environment, finished, operation.id)) {
        progress.say('The output is the same as that of the live deployment: nothing to switch, and the cache stays.')
        if (build.isClean) progress.say(NONE_EARLIER)
        await parts.cacheCopies.save({ environment, build, progress })
        return end('SUCCEEDED', parts.finishWithEnvironment(operation), { isUnchanged: true, inspected })
      }
      for (const sentence of inspected.suspected?.sentences ?? []) progress.say(`Warning: ${sentence}`)
      if (!inspected.isToBeHeld) await progress.enter('STARTING')
      const deployment = await deployments.makeFor(operation.id, path, {
        buildId: build.id,
        variables: environment.variables,
      })
      if (inspected.suspected && inspected.isToBeHeld) {
        progress.say(
          `The build is held: it does not go live, and visitors still get the live deployment. ${adviceOn(deployment.id)}`,
        )
        progress.say(await parts.retries.outlook(environment.id, inspected.endpoints))
        const problem = heldProblem(inspected.suspected, deployment.id)
        return end('SUCCEEDED', async () => ({ error: problem }), { inspected })
      }
      if (inspected.endpoints.length > 0) {
        progress.say(await parts.retries.outlook(environment.id, inspected.endpoints))
      }
      await launcher.start(environment, deployment, finished, { signal: work.signal, log })
      await progress.enter('SWITCHING')
      await switching.to(environment, deployment, operation.id, { isClean: build.isClean })
      if (build.isClean) progress.say(NONE_EARLIER)
      progress.say(`Live after ${progress.timesInWords()}.`)
      await parts.cacheCopies.save({ environment, build, progress })
      return end('SUCCEEDED', parts.finishWithEnvironment(operation), { inspected })
    } catch (error) {
      // The operation is handed back, and the next worker begins again.
      if ((work.signal.aborted && !isCancelled(work)) || isDatabaseAway(error)) throw error
      const problem = isCancelled(work)
        ? new Problem('OPERATION_CANCELLED')
        : await explained(toProblem(error), environment, build, log)
      await launcher.giveUp(environment.id, operation.id)
      const logLine = Number(problem.metadata.logLine ?? progress.provingLine())
      progress.fail(problem.message)
      if (isCancelled(work)) return end('CANCELLED', async () => ({ error: problem }))
      const spoilt = await spoiltBy(problem, environment, build)
      if (spoilt && isStoreAway(problem)) progress.say(await parts.retries.outlook(environment.id, spoilt))
      const changes = await parts.blame(environment, build).catch(unknownChanges)
      for (const change of changes) progress.say(change)
      return end('FAILED', async () => ({ error: problem }), {
        failure: toFailure(problem, logLine, changes),
        spoilt,
      })
    } finally {
      // A fault here must not change how the build ended; the next start removes what is left.
      await removeWorkspace(folders.work(environment.id, build.id)).catch((error) =>
        parts.log.error({ err: error }, 'a work folder could not be removed'),
      )
      await log.close()
    }

    function end(
      state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED',
      finish: Finish,
      { failure = null, isUnchanged = false, inspected, spoilt }: Outcome = {},
    ): Finish {
      const durations = progress.durations()
      const buildId = (build as Build).id
      const { suspected, isToBeHeld: isHeld = false, endpoints = [] } = isUnchanged ? {} : (inspected ?? {})
      return async (tx) => {
        await builds.end(tx, buildId, { state, durations, failure, isUnchanged, suspected, isHeld })
        if (isHeld) await deployments.setHeld(tx, operation.id)
        else if (state !== 'SUCCEEDED') await deployments.setFailed(tx, operation.id)
        else await deployments.discardHeld(tx, path.environmentId)
        const wanted = isHeld || endpoints.length > 0 ? endpoints : spoilt
        if (wanted) await parts.retries.arrange(tx, path, { buildId, endpoints: wanted })
        else if (state === 'SUCCEEDED') await parts.retries.endUnless(tx, path.environmentId, inspected?.unreached)
        if (state === 'CANCELLED') await callOff(tx, build as Build)
        return finish(tx)
      }
    }
  }

  /** The archive of a cancelled upload is not what the next rebuild builds. */
  async function callOff(tx: Transaction, { trigger, environmentId, archive }: Build) {
    if (trigger === 'UPLOAD') await parts.sources.uploadCancelled(tx, environmentId, archive)
  }

  /**
   * The servers to wait for if a rebuild failed because the CMS could not be reached; none if its archive could not. Undefined
   * for an upload: its sender sees the failure, and decides when to try again.
   */
  async function spoiltBy(problem: Problem, environment: Environment, build: Build): Promise<Endpoint[] | undefined> {
    if (build.trigger === 'UPLOAD') return undefined
    if (isStoreAway(problem)) return []
    if (problem.reason !== 'CMS_UNREACHABLE') return undefined
    const { own, metadata } = await parts.appVariables(environment, environment.variables, build.id, 'build')
    const [, host = '', port] = /^(.*?)(?::(\d{1,5}))?$/.exec(problem.metadata.host ?? '') ?? []
    return endpointsToAsk([{ host, port: port === undefined ? null : Number(port) }], endpointsAsked(own, metadata))
  }

  /** An app that ends before it answers has usually logged the reason. */
  async function explained(problem: Problem, environment: Environment, build: Build, log: LineLog): Promise<Problem> {
    if (problem.reason !== 'START_CRASHED') return problem
    const all = await log.linesAfter(0)
    const lines = all.filter(({ phase, stream }) => phase === 'STARTING' && stream !== 'service')
    const exit = { code: Number(problem.metadata.exitCode) || null, signal: null }
    // The plan was made after the build was read.
    const plan = (await builds.ofOperation(sql, build.operationId))?.plan
    const { name: packageManager = null, lockfile = null } = plan?.packageManager ?? {}
    const { own, metadata: cmsMetadata } = await parts.appVariables(environment, environment.variables, build.id, 'run')
    const cmsHosts = hostsAsked(own, cmsMetadata)
    const found = await diagnosePhase({
      ...{ phase: 'STARTING', argv: [], exit, lines, packageManager, lockfile, missing: [], cmsHosts, names: {} },
    })
    const message = found.reason === problem.reason ? problem.message : `${problem.message} ${found.message}`
    const metadata = { ...found.metadata, ...problem.metadata, logLine: String(found.logLine) }
    return new Problem(problem.reason, message, { metadata, cause: problem.cause })
  }

  /** The failure is reported even if its cause cannot be found. */
  function unknownChanges(error: unknown): string[] {
    parts.log.error({ err: error }, 'what changed since the last good build could not be found out')
    return []
  }

  function toProblem(error: unknown): Problem {
    if (error instanceof Problem) {
      // The tenant does not see the cause, so the operator's log has it.
      if (error.cause !== undefined) parts.log.warn({ err: error.cause, reason: error.reason }, 'a build failed')
      return error
    }
    parts.log.error({ err: error }, 'a build failed by a fault of the service')
    return toStorageProblem(error) ?? new Problem('INTERNAL', undefined, { cause: error })
  }
}
