/**
 * All steps from an archive to live traffic, for Upload, Rebuild and Clean Rebuild. Activate and a change of variables begin
 * where a deployment is started. A build with the same output as the live one ends without a switch. A failure before the
 * switch leaves the environment as it was. A rebuild with a suspicious output is held: it is kept, and not switched to; so is
 * what has broken pages, which are asked for before the switch. If the process dies, the steps begin again, and those whose result is recorded are not repeated.
 */
import type { Accounts } from '../../accounts/index.ts'
import { allVariables, type Environment, type Environments } from '../../apps/index.ts'
import type { Clock, Log } from '../../base/index.ts'
import {
  type Build,
  type Builds,
  type Failure,
  type FromSnapshot,
  type Outputs,
  type Promotion,
  removeWorkspace,
  type Sources,
  toFailure,
} from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Endpoint } from '../../engines/index.ts'
import { type Finish, type Handler, isCancelled, type OperationRecord } from '../../operations/index.ts'
import type { Snapshots } from '../../snapshots/index.ts'
import { isDatabaseAway, isStoreAway, type LineLogs, type Sql, type Transaction } from '../../storage/index.ts'
import type { Blame } from '../blame.ts'
import { type Check, type Checked, checkFailed, heldAdvice } from '../check/index.ts'
import { createExplanations, toProblem } from '../failures/explain.ts'
import type { Folders } from '../folders.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Retries } from '../records/retries.ts'
import type { BuildRequests } from '../requests/request-build.ts'
import type { GetAppVariables } from './app-variables.ts'
import type { GetBuildInputs } from './build-inputs.ts'
import type { CacheCopies } from './cache-copies.ts'
import type { ImageSteps } from './image.ts'
import { adviceOn, heldProblem, type Inspect, type Inspected, withWarnings } from './inspect.ts'
import type { Launcher } from './launch.ts'
import type { PrepareImage } from './make.ts'
import { createProgress, type Progress } from './progress.ts'
import type { BeginSuccession } from './succession.ts'
import type { Switch } from './switch.ts'

export const buildLogName = (buildId: string): string => `builds/${buildId}`

const describePromotion = ({ displayName, differing }: Promotion): string =>
  `Promoted from ${displayName}. It is built, since a build here sees other values of: ${differing.join(', ')}.`

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
  buildInputs: GetBuildInputs
  /** A preview with the variables that it inherits now. */
  refreshVariables(environment: Environment): Promise<Environment>
  retries: Retries
  inspect: Inspect
  check: Check
  accounts: Pick<Accounts, 'requireById'>
  buildRequests: Pick<BuildRequests, 'handOn'>
  /** Whether the build will run a program of the app, going by the files of its archive. */
  needsPrograms(environment: Environment, build: Build): Promise<boolean>
  /** From the archive to a stored output. */
  make(environment: Environment, build: Build, progress: Progress, image: PrepareImage): Promise<Build>
  blame: Blame
  imageSteps: Pick<ImageSteps, 'begin'>
  snapshots: Pick<Snapshots, 'records'>
  cacheCopies: Pick<CacheCopies, 'save'>
  /** The environment as the operation's response shows it. */
  finishWithEnvironment(operation: OperationRecord): Finish
}

/** What the end of a build records beside its state. */
type Outcome = {
  failure?: Failure | null
  isUnchanged?: boolean
  inspected?: Inspected
  checked?: Checked | undefined
  fromSnapshot?: FromSnapshot | null
  /** The servers that must answer before it is built again. */
  spoilt?: Endpoint[] | undefined
}

export function createDeploy(parts: Parts): Handler {
  const { sql, clock, builds, environments, deployments, launcher, switching, folders, logs } = parts

  const { spoiltBy, explained } = createExplanations(parts)

  return async function deploy(operation, work) {
    const found = await environments.byId(sql, operation.environmentId)
    const build = await builds.ofOperation(sql, operation.id)
    if (!found || !build) return async () => ({ error: new Problem('ENVIRONMENT_NOT_FOUND') })
    const environment = await parts.refreshVariables(found)
    const path = { accountId: environment.accountId, environmentId: environment.id }
    if (work.queue === 'light' && !isCancelled(work) && (await parts.needsPrograms(environment, build))) {
      const account = await parts.accounts.requireById(sql, environment.accountId)
      return (tx) => parts.buildRequests.handOn(tx, account, operation)
    }
    await using _succession = await parts.beginSuccession(environment.id)
    const log = await logs.create(buildLogName(build.id), {
      secrets: (await parts.appVariables(environment, allVariables(environment), build.id, 'build')).secrets,
      whenFull: 'stop',
      maxBytes: BUILD_LOG_BYTES,
    })
    const progress = createProgress(build, { clock, builds, log, work })
    try {
      if (isCancelled(work)) throw work.signal.reason
      await builds.begin(build.id)
      await builds.seen(build.id, await parts.buildInputs(environment))
      if (build.archive.promotion) progress.say(describePromotion(build.archive.promotion))
      // An output that is recorded but missing was lost when the process died before it was moved into place.
      const isMade = build.output !== null && (await parts.outputs.has(build.output))
      await using image = parts.imageSteps.begin(environment, progress)
      const finished = isMade ? build : await parts.make(environment, build, progress, image)
      await image.publish(finished)
      const inspected = await parts.inspect(environment, finished, work.signal)
      const { fromSnapshot } = finished
      if (fromSnapshot) progress.say(await parts.retries.outlook(environment.id, [fromSnapshot.failed]))
      if (await switching.stay(environment, finished, operation.id)) {
        progress.say('The output is the same as that of the live deployment: nothing to switch, and the cache stays.')
        if (build.isClean) progress.say(NONE_EARLIER)
        await parts.cacheCopies.save({ environment, build, progress })
        return end('SUCCEEDED', parts.finishWithEnvironment(operation), { isUnchanged: true, inspected, fromSnapshot })
      }
      for (const sentence of inspected.suspected?.sentences ?? []) progress.say(`Warning: ${sentence}`)
      if (!inspected.isToBeHeld) await progress.enter('STARTING')
      const deployment = await deployments.makeFor(operation.id, path, {
        buildId: build.id,
        variables: allVariables(environment),
      })
      if (inspected.suspected && inspected.isToBeHeld) {
        progress.say(
          `The build is held: it does not go live, and visitors still get the live deployment. ${adviceOn(deployment.id)}`,
        )
        progress.say(await parts.retries.outlook(environment.id, inspected.endpoints))
        const problem = heldProblem(inspected.suspected, deployment.id)
        return end('SUCCEEDED', async () => ({ error: problem }), { inspected, fromSnapshot })
      }
      if (inspected.endpoints.length > 0) {
        progress.say(await parts.retries.outlook(environment.id, inspected.endpoints))
      }
      await launcher.start(environment, deployment, finished, { signal: work.signal, log })
      const { isForced } = build
      const checked = await parts.check(environment, deployment, finished, {
        signal: work.signal,
        say: progress.say,
        isForced,
      })
      if (checked?.isToBeHeld) {
        await launcher.giveUp(environment.id, operation.id)
        progress.say(heldAdvice(checked.report, deployment.id))
        const problem = checkFailed(checked.report, deployment.id)
        return end('SUCCEEDED', async () => ({ error: problem }), { inspected, checked, fromSnapshot })
      }
      await progress.enter('SWITCHING')
      await switching.to(environment, deployment, operation.id, { isClean: build.isClean })
      if (build.isClean) progress.say(NONE_EARLIER)
      progress.say(`Live after ${progress.timesInWords()}.`)
      await parts.cacheCopies.save({ environment, build, progress })
      return end('SUCCEEDED', parts.finishWithEnvironment(operation), { inspected, checked, fromSnapshot })
    } catch (error) {
      // The operation is handed back, and the next worker begins again.
      if ((work.signal.aborted && !isCancelled(work)) || isDatabaseAway(error)) throw error
      const problem = isCancelled(work)
        ? new Problem('OPERATION_CANCELLED')
        : await explained(toProblem(error, parts.log), environment, build, log)
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
      { failure = null, isUnchanged = false, inspected, checked, fromSnapshot = null, spoilt }: Outcome = {},
    ): Finish {
      const durations = progress.durations()
      const buildId = (build as Build).id
      const { suspected, isToBeHeld: isHeld = false, endpoints = [] } = isUnchanged ? {} : (inspected ?? {})
      const heldReason = isHeld ? 'SUSPICIOUS_OUTPUT' : checked?.isToBeHeld ? 'CHECK_FAILED' : undefined
      const found = withWarnings(suspected, checked?.warnings)
      return async (tx) => {
        await builds.end(tx, buildId, { state, durations, failure, isUnchanged, suspected: found, heldReason })
        if (heldReason) await deployments.setHeld(tx, operation.id)
        else if (state !== 'SUCCEEDED') await deployments.setFailed(tx, operation.id)
        else await deployments.discardHeld(tx, path.environmentId)
        const isGood = state === 'SUCCEEDED' && !inspected?.suspected && !heldReason
        if (environment.contentSnapshots && isGood && !fromSnapshot) await parts.snapshots.records.approve(tx, buildId)
        const failed = fromSnapshot ? [...endpoints, fromSnapshot.failed] : endpoints
        const wanted = isHeld || failed.length > 0 ? failed : spoilt
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

  /** The failure is reported even if its cause cannot be found. */
  function unknownChanges(error: unknown): string[] {
    parts.log.error({ err: error }, 'what changed since the last good build could not be found out')
    return []
  }
}
