/** What a failure of a build means to its tenant, and which servers must answer before it is worth another attempt. */
import { allVariables, type Environment } from '../../apps/index.ts'
import type { Log } from '../../base/index.ts'
import { type Build, type Builds, diagnosePhase, endpointsAsked, hostsAsked } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Endpoint } from '../../engines/index.ts'
import { isStoreAway, type LineLog, type Sql, toStorageProblem } from '../../storage/index.ts'
import type { GetAppVariables } from '../deploy/app-variables.ts'
import { endpointsToAsk } from '../deploy/suspicion.ts'

type Parts = { sql: Sql; builds: Pick<Builds, 'ofOperation'>; appVariables: GetAppVariables }

export function createExplanations({ sql, builds, appVariables }: Parts) {
  /**
   * The servers to wait for if a rebuild failed because the CMS could not be reached; none if its archive could not. Undefined
   * for an upload: its sender sees the failure, and decides when to try again.
   */
  async function spoiltBy(problem: Problem, environment: Environment, build: Build): Promise<Endpoint[] | undefined> {
    if (build.trigger === 'UPLOAD') return undefined
    if (isStoreAway(problem)) return []
    if (problem.reason !== 'CMS_UNREACHABLE') return undefined
    const { own, metadata } = await appVariables(environment, allVariables(environment), build.id, 'build')
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
    const { own, metadata: cmsMetadata } = await appVariables(environment, allVariables(environment), build.id, 'run')
    const cmsHosts = hostsAsked(own, cmsMetadata)
    const found = await diagnosePhase({
      ...{ phase: 'STARTING', argv: [], exit, lines, packageManager, lockfile, missing: [], cmsHosts, names: {} },
    })
    const message = found.reason === problem.reason ? problem.message : `${problem.message} ${found.message}`
    const metadata = { ...found.metadata, ...problem.metadata, logLine: String(found.logLine) }
    return new Problem(problem.reason, message, { metadata, cause: problem.cause })
  }

  return { spoiltBy, explained }
}

export function toProblem(error: unknown, log: Log): Problem {
  if (error instanceof Problem) {
    // The tenant does not see the cause, so the operator's log has it.
    if (error.cause !== undefined) log.warn({ err: error.cause, reason: error.reason }, 'a build failed')
    return error
  }
  log.error({ err: error }, 'a build failed by a fault of the service')
  return toStorageProblem(error) ?? new Problem('INTERNAL', undefined, { cause: error })
}
