/**
 * Deployments without a build: an older one is made live again, the same output gets other variables, or the output of another
 * environment is used.
 */
import { allVariables, type Environment, type Environments } from '../../apps/index.ts'
import type { Build, Builds, Outputs } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import { type Finish, type Handler, isCancelled, type OperationRecord } from '../../operations/index.ts'
import { isDatabaseAway, type LineLog, type LineLogs, type Sql } from '../../storage/index.ts'
import { type Check, checkFailed, heldAdvice } from '../check/index.ts'
import type { Folders } from '../folders.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Retries } from '../records/retries.ts'
import type { Deployment } from '../records/rows.ts'
import type { Routing } from '../routing.ts'
import { buildLogName } from './deploy.ts'
import type { ImageSteps } from './image.ts'
import { withWarnings } from './inspect.ts'
import type { Launcher } from './launch.ts'
import type { BeginSuccession } from './succession.ts'
import type { Switch } from './switch.ts'

type Parts = {
  sql: Sql
  builds: Builds
  environments: Environments
  deployments: Deployments
  launcher: Launcher
  imageSteps: Pick<ImageSteps, 'restore'>
  switching: Switch
  beginSuccession: BeginSuccession
  check: Check
  retries: Pick<Retries, 'end'>
  routing: Pick<Routing, 'publish'>
  outputs: Pick<Outputs, 'has' | 'makeReadable'>
  folders: Pick<Folders, 'userOf'>
  logs: Pick<LineLogs, 'create'>
  finishWithEnvironment(operation: OperationRecord): Finish
}

type Work = Parameters<Handler>[1]

/** What ends the operation instead of the switch; undefined if it goes on. */
type BeforeSwitch = (deployment: Deployment) => Promise<Finish | undefined>

const PROMOTION_LOG_BYTES = 64 * 1024

export function createRedeploy(parts: Parts): { activate: Handler; promote: Handler; update: Handler } {
  const { sql, builds, environments, deployments, launcher, switching, finishWithEnvironment } = parts

  async function goLive(
    operation: OperationRecord,
    deploymentId: string,
    work: Work,
    beforeSwitch?: BeforeSwitch,
  ): Promise<Finish> {
    const environment = await environments.byId(sql, operation.environmentId)
    const deployment = await deployments.find(sql, deploymentId)
    if (!environment || !deployment) throw new Problem('DEPLOYMENT_NOT_FOUND')
    const path = { accountId: environment.accountId, environmentId: environment.id }
    const build = await builds.require(path, deployment.buildId)
    await using _succession = await parts.beginSuccession(environment.id)
    const live = environment.liveDeployment ? await deployments.find(sql, environment.liveDeployment) : undefined
    const replaced = live && live.id !== deployment.id ? { replaced: live } : {}
    await work.enter('STARTING')
    await parts.imageSteps.restore(environment, build, work.signal)
    await launcher.start(environment, deployment, build, { signal: work.signal, ...replaced })
    const held = await beforeSwitch?.(deployment)
    if (held) return held
    await work.enter('SWITCHING')
    await switching.to(environment, deployment, operation.id)
    return finishWithEnvironment(operation)
  }

  /** Makes a deployment of a build with the variables that the environment has now. */
  async function goLiveWith(
    operation: OperationRecord,
    environment: Environment,
    { buildId, work, beforeSwitch }: { buildId: string; work: Work; beforeSwitch?: BeforeSwitch },
  ): Promise<Finish> {
    const path = { accountId: environment.accountId, environmentId: environment.id }
    const variables = allVariables(environment)
    const next = await deployments.makeFor(operation.id, path, { buildId, variables })
    try {
      return await goLive(operation, next.id, work, beforeSwitch)
    } catch (error) {
      if ((work.signal.aborted && !isCancelled(work)) || isDatabaseAway(error)) throw error
      const problem = isCancelled(work) ? new Problem('OPERATION_CANCELLED') : error
      if (!(problem instanceof Problem)) throw error
      await launcher.giveUp(environment.id, operation.id)
      return async (tx) => {
        await deployments.setFailed(tx, operation.id)
        return { error: problem }
      }
    }
  }

  /** Files of a static site are the same whether or not pages name their content. */
  async function isOutdated(environment: Environment, live: Deployment): Promise<boolean> {
    if (JSON.stringify(live.variables) !== JSON.stringify(allVariables(environment))) return true
    if (live.namesContent === (environment.learnedCaching !== null)) return false
    const path = { accountId: environment.accountId, environmentId: environment.id }
    const { plan } = await builds.require(path, live.buildId)
    return plan?.output.kind === 'server'
  }

  /** Its files belong to the user of the environment that built it; an app that runs as another user has to read them. */
  async function takeOver(environment: Environment, build: Build, work: Work) {
    await parts.imageSteps.restore(environment, build, work.signal)
    const { output, plan } = build
    if (output === null || plan?.output.kind !== 'server' || !parts.folders.userOf(environment)) return
    if (await parts.outputs.has(output)) await parts.outputs.makeReadable(output)
  }

  async function logPromotion({ id, archive: { promotion } }: Build): Promise<LineLog> {
    const log = await parts.logs.create(buildLogName(id), {
      secrets: [],
      whenFull: 'stop',
      maxBytes: PROMOTION_LOG_BYTES,
    })
    log.say(
      'STARTING',
      `Promoted from ${promotion?.displayName}: the output of build ${promotion?.build}. Nothing is built.`,
    )
    return log
  }

  /** Checks the pages of what is promoted, as those of a build are. */
  function checkWith(
    operation: OperationRecord,
    environment: Environment,
    build: Build,
    { signal, log }: { signal: AbortSignal; log: LineLog },
  ): BeforeSwitch {
    return async (deployment) => {
      const say = (text: string) => log.say('STARTING', text)
      const checked = await parts.check(environment, deployment, build, { signal, say, isForced: false })
      const suspected = withWarnings(undefined, checked?.warnings)
      if (!checked?.isToBeHeld) {
        if (suspected) await sql.transaction((tx) => builds.judged(tx, build.id, { suspected }))
        return undefined
      }
      await launcher.giveUp(environment.id, operation.id)
      say(heldAdvice(checked.report, deployment.id))
      return async (tx) => {
        await builds.judged(tx, build.id, { suspected, heldReason: 'CHECK_FAILED' })
        await deployments.setHeld(tx, operation.id)
        return { error: checkFailed(checked.report, deployment.id) }
      }
    }
  }

  return {
    /** A user has decided what is live, so nothing is checked, and the service stops retrying builds by itself. */
    async activate(operation, work) {
      const finish = await goLive(operation, operation.activates ?? '', work)
      return async (tx) => {
        await parts.retries.end(tx, operation.environmentId)
        return finish(tx)
      }
    },

    async promote(operation, work) {
      const environment = await environments.byId(sql, operation.environmentId)
      const build = await builds.ofOperation(sql, operation.id)
      if (!environment || !build) return async () => ({ error: new Problem('ENVIRONMENT_NOT_FOUND') })
      const log = await logPromotion(build)
      try {
        await takeOver(environment, build, work)
        const beforeSwitch = checkWith(operation, environment, build, { signal: work.signal, log })
        const finish = await goLiveWith(operation, environment, { buildId: build.id, work, beforeSwitch })
        return async (tx) => {
          await parts.retries.end(tx, operation.environmentId)
          return finish(tx)
        }
      } finally {
        await log.close()
      }
    },

    /**
     * Who may see the site and the number of instances change at once. If the variables of the live deployment are not those of the environment any more, it is
     * replaced by one with the new ones; and so it is where learned caching was switched on or off.
     */
    async update(operation, work) {
      await parts.routing.publish()
      const environment = await environments.byId(sql, operation.environmentId)
      const live = environment?.liveDeployment ? await deployments.find(sql, environment.liveDeployment) : undefined
      if (environment && live) await launcher.scale(live.id, environment)
      if (!environment || !live || !(await isOutdated(environment, live))) return finishWithEnvironment(operation)
      return goLiveWith(operation, environment, { buildId: live.buildId, work })
    },
  }
}
