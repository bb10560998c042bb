/**
 * The story from an archive to live traffic. Upload, Rebuild and Clean Rebuild are parameters of it; activate and a change
 * of variables enter where a deployment is started. A failure before the switch leaves the environment as it was. If the
 * process dies, the story begins again, and steps whose result is recorded are not repeated.
 */
import { rm } from 'node:fs/promises'
import type { Environment, Environments } from '../apps/index.ts'
import type { Archives } from '../archives/index.ts'
import type { Clock, Log } from '../base/index.ts'
import {
  type Build,
  type Builds,
  type Outputs,
  type Plan,
  planBuild,
  type RunParts,
  readProject,
  runPlan,
  sourceInFolder,
  toFailure,
} from '../builds/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { createManifest, writeManifest } from '../edge/index.ts'
import { type Finish, type Handler, isCancelled, type Operation, type Work } from '../operations/index.ts'
import type { LineLog, LineLogs, Sql } from '../storage/index.ts'
import type { GetAppVariables } from './app-variables.ts'
import type { Deployments } from './deployments.ts'
import type { Folders } from './folders.ts'
import type { Launcher } from './launch.ts'
import type { Switch } from './switch.ts'

export const buildLogName = (buildId: string): string => `builds/${buildId}`

const BUILD_LOG_BYTES = 32 * 1024 * 1024

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  archives: Archives
  builds: Builds
  outputs: Outputs
  run: RunParts
  environments: Environments
  deployments: Deployments
  launcher: Launcher
  switching: Switch
  folders: Folders
  logs: LineLogs
  appVariables: GetAppVariables
  /** The environment as the operation's response shows it. */
  finishWithEnvironment(operation: Operation): Finish
}

export function createDeploy(parts: Parts): Handler {
  const { sql, clock, archives, builds, outputs, environments, deployments, launcher, switching, folders, logs } = parts

  return async function deploy(operation, work) {
    const environment = await environments.byId(sql, operation.environmentId)
    const build = await builds.ofOperation(sql, operation.id)
    if (!environment || !build) return async () => ({ error: new Problem('ENVIRONMENT_NOT_FOUND') })
    const log = await logs.create(buildLogName(build.id), {
      secrets: (await parts.appVariables(environment, environment.variables, build.id, 'build')).secrets,
      whenFull: 'stop',
      bytesMost: BUILD_LOG_BYTES,
    })
    const story = createStory(build, log, work)
    try {
      if (isCancelled(work)) throw work.signal.reason
      await builds.begin(build.id)
      const finished = build.output ? build : await make(environment, build, story)
      await story.enter('STARTING')
      const path = { accountId: environment.accountId, environmentId: environment.id }
      const deployment = await deployments.makeFor(operation.id, path, {
        buildId: build.id,
        variables: environment.variables,
      })
      await launcher.start(environment, deployment, finished, { signal: work.signal, log })
      await story.enter('SWITCHING')
      await switching.to(environment, deployment, operation.id)
      story.say('Live.')
      return end('SUCCEEDED', parts.finishWithEnvironment(operation))
    } catch (error) {
      // Handed back: the next worker begins again.
      if (work.signal.aborted && !isCancelled(work)) throw error
      const problem = isCancelled(work) ? new Problem('OPERATION_CANCELLED') : toProblem(error)
      await launcher.giveUp(environment.id, operation.id)
      const logLine = story.provingLine()
      story.say(problem.message)
      return end(isCancelled(work) ? 'CANCELLED' : 'FAILED', async () => ({ error: problem }), problem, logLine)
    } finally {
      await rm(folders.work(environment.id, build.id), { recursive: true, force: true })
      await log.close()
    }

    function end(state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED', finish: Finish, problem?: Problem, logLine = 0): Finish {
      const durations = story.durations()
      return async (tx) => {
        const failure = problem && state === 'FAILED' ? toFailure(problem, logLine) : null
        await builds.end(tx, (build as Build).id, { state, durations, failure })
        if (state !== 'SUCCEEDED') await deployments.setFailed(tx, operation.id)
        return finish(tx)
      }
    }
  }

  function toProblem(error: unknown): Problem {
    if (error instanceof Problem) return error
    parts.log.error({ err: error }, 'a build failed by a fault of the service')
    return new Problem('INTERNAL', undefined, { cause: error })
  }

  /** Unpack, plan, install, build, keep. */
  async function make(environment: Environment, build: Build, story: Story): Promise<Build> {
    const workFolder = folders.work(environment.id, build.id)
    const user = folders.userOf(environment)
    await rm(workFolder, { recursive: true, force: true })
    await folders.prepare(environment.id)

    await story.enter('UNPACKING')
    const unpacked = await archives.unpack(build.archive.digest, workFolder, { ...user, signal: story.signal })
    story.say(`Unpacked ${unpacked.files} files, ${unpacked.bytes} bytes.`)
    if (unpacked.strippedFolder) story.say(`The folder ${unpacked.strippedFolder} around everything was taken off.`)
    if (unpacked.skipped.nodeModules) story.say(`Skipped node_modules (${unpacked.skipped.nodeModules} entries).`)
    if (unpacked.skipped.git) story.say(`Skipped .git (${unpacked.skipped.git} entries).`)

    await story.enter('PLANNING')
    const plan = planBuild(await readProject(await sourceInFolder(workFolder), environment.rootDirectory))
    await builds.planned(build.id, plan)
    for (const reason of plan.detectedBy) story.say(reason)

    const { values } = await parts.appVariables(environment, environment.variables, build.id, 'build')
    const outputFolder = await runPlan(parts.run, {
      plan,
      workFolder,
      cacheFolder: await folders.cache(environment, build),
      user,
      variables: values,
      log: story.log,
      signal: story.signal,
      enter: story.enter,
    })
    const output = await outputs.keep(outputFolder, ownerOf(environment, plan), (files, edgeFolder) =>
      prepareForEdge(plan, files, edgeFolder),
    )
    await builds.built(build.id, output)
    return { ...build, plan, output }
  }

  type Story = ReturnType<typeof createStory>

  /** The thread through one attempt: where it is, since when, and what the log says. */
  function createStory(build: Build, log: LineLog, work: Work) {
    const spent: Build['durations'] = {}
    let phase: resources.Phase = 'QUEUED'
    let since = clock.now()
    let firstLine = 0

    const leave = () => {
      if (phase !== 'QUEUED') spent[phase] = (spent[phase] ?? 0) + clock.now() - since
      since = clock.now()
    }
    return {
      log,
      signal: work.signal,
      say: (text: string) => log.say(phase, text),
      async enter(next: resources.Phase) {
        leave()
        phase = next
        firstLine = log.lastNumber() + 1
        await work.enter(next)
        await builds.enter(build.id, next, spent)
      },
      durations() {
        leave()
        return spent
      },
      /** The line of the step under way that shows why it failed; 0 when it wrote none. */
      provingLine: () => log.provingLine(firstLine),
    }
  }
}

/** Outputs are never shared between environments, nor between ways to serve the same files. */
const ownerOf = ({ id }: Environment, { output }: Plan): string => `${id} ${JSON.stringify(output)}`

async function prepareForEdge({ output }: Plan, files: string, edgeFolder: string) {
  if (output.kind !== 'static') return
  const manifest = await createManifest(files, edgeFolder, { singlePage: output.singlePage })
  await writeManifest(edgeFolder, manifest)
}
