/** Compares the output of a build with the live one before visitors get it. */
import { allVariables, type Environment, type Environments } from '../../apps/index.ts'
import { type Build, type Builds, endpointsAsked, type Outputs, pagesIn, type Suspected } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Endpoint } from '../../engines/index.ts'
import type { Digest, Sql } from '../../storage/index.ts'
import type { Deployments } from '../records/deployments.ts'
import type { GetAppVariables } from './app-variables.ts'
import { endpointsToAsk, hostsUnreached, inSentences, type Suspicion, suspicionOf } from './suspicion.ts'

export type Inspected = {
  /** What is suspicious, for the record and in words; undefined if nothing is. */
  suspected: Suspected | undefined
  /** Whether it must not go live without a decision of a user. */
  isToBeHeld: boolean
  /** The servers that should have been reached: the build is retried when they answer. */
  endpoints: Endpoint[]
  /** All hosts that could not be reached, including those that the build of the live deployment did not reach either. */
  unreached: ReadonlySet<string>
}

type Parts = {
  sql: Sql
  builds: Pick<Builds, 'require'>
  environments: Pick<Environments, 'byId'>
  deployments: Pick<Deployments, 'find'>
  outputs: Pick<Outputs, 'filesOf' | 'has'>
  appVariables: GetAppVariables
  /** Gets the files of an output that may be on another machine. */
  fetchOutput?(environment: Environment, build: Build, signal: AbortSignal): Promise<void>
}

export function createInspect({ sql, builds, environments, deployments, outputs, appVariables, fetchOutput }: Parts) {
  async function pagesOf(output: Digest | null): Promise<Set<string>> {
    return output && (await outputs.has(output)) ? pagesIn(outputs.filesOf(output)) : new Set()
  }

  return async function inspect(environment: Environment, build: Build, signal: AbortSignal): Promise<Inspected> {
    const path = { accountId: environment.accountId, environmentId: environment.id }
    const liveId = (await environments.byId(sql, environment.id))?.liveDeployment
    const live = liveId ? await deployments.find(sql, liveId) : undefined
    const liveBuild = live && (await builds.require(path, live.buildId))
    const { own, metadata } = await appVariables(environment, allVariables(environment), build.id, 'build')
    const asked = endpointsAsked(own, metadata)
    const { contacts } = await builds.require(path, build.id)
    if (liveBuild) await fetchOutput?.(environment, liveBuild, signal)
    const suspicion = suspicionOf({
      contacts,
      liveContacts: liveBuild?.contacts ?? null,
      asked,
      pages: await pagesOf(build.output),
      livePages: await pagesOf(liveBuild?.output ?? null),
      limits: environment.suspiciousOutput,
    })
    // If nothing is live, visitors lose nothing.
    const isAllowed = !live || build.trigger === 'UPLOAD' || build.isForced
    return {
      suspected: suspicion && {
        sentences: [...inSentences(suspicion), ...noteOnArchive(suspicion, build, liveBuild)],
        details: suspicion,
      },
      isToBeHeld: suspicion !== undefined && !isAllowed && environment.suspiciousOutput.action === 'HOLD',
      endpoints: suspicion ? endpointsToAsk(suspicion.unreachable, asked) : [],
      unreached: hostsUnreached({ contacts, asked }),
    }
  }
}

export type Inspect = ReturnType<typeof createInspect>

/** With what the check of its pages has found. */
export function withWarnings(
  suspected: Suspected | undefined,
  warnings: readonly string[] = [],
): Suspected | undefined {
  if (warnings.length === 0) return suspected
  const details = suspected?.details ?? ({ unreachable: [], lostPages: null } satisfies Suspicion)
  return { sentences: [...(suspected?.sentences ?? []), ...warnings], details }
}

/** The details of a suspicion, as they were recorded. */
export const detailsOf = ({ details }: Suspected): Suspicion => details as Suspicion

export function heldProblem({ sentences, details }: Suspected, deploymentId: string): Problem {
  const { unreachable, lostPages } = details as Suspicion
  const message = `${sentences.join(' ')} The build is held, and visitors still get the live deployment. ${adviceOn(deploymentId)}`
  return new Problem('SUSPICIOUS_OUTPUT', message, {
    metadata: {
      deployment: deploymentId,
      ...(unreachable.length > 0 ? { hosts: unreachable.map(({ host }) => host).join(', ') } : {}),
      ...(lostPages ? { missingPages: String(lostPages.count) } : {}),
    },
  })
}

export const adviceOn = (deploymentId: string): string =>
  `If the output is right, make it live: headland deployments activate ${deploymentId}, or Make live in the portal.`

/** Another archive may have fewer pages on purpose. */
const noteOnArchive = ({ lostPages }: Suspicion, build: Build, live: Build | undefined): string[] =>
  lostPages && live && live.archive.digest !== build.archive.digest
    ? ['Its archive is another one than that of the live deployment, so they may be missing on purpose.']
    : []
