/** The end of an operation that a tool has asked for, as far as its caller waits for it. */
import { ENVIRONMENT, type Operation } from '../../../client/index.ts'
import { CallFailed } from '../../connection/failures.ts'
import { noteOnActivation } from '../../output/pin.ts'
import { lastPart } from '../../project/where.ts'
import { facts, failed, problem } from '../results.ts'
import type { At, Context, Given } from '../tool.ts'
import { readBuild, shownBuild } from './builds.ts'

const WAIT_SECONDS = 45

/** Waits for the end of an operation, as long as the caller wants to. */
export async function followed(context: Context, at: At, operation: Operation, { waitSeconds = WAIT_SECONDS }: Given) {
  const { service, title } = at
  const build = lastPart({ name: operation.metadata.build })
  const hasBuild = build !== 'no_build'
  const time = AbortSignal.timeout(waitSeconds * 1000)
  const signal = AbortSignal.any([context.signal, time])
  try {
    const onState = ({ metadata }: Operation) => context.progress(metadata.phase)
    const done = await service.client.waitForOperation(operation, { signal, onState })
    const environment = await service.client.call(`GET ${ENVIRONMENT}`, { path: at.names, signal: context.signal })
    const note = noteOnActivation(environment)
    const live = lastPart({ name: environment.deployment })
    const unchanged = done.metadata.unchanged
    return facts({
      environment: title,
      done: true,
      url: environment.url,
      live,
      ...(hasBuild ? { build } : {}),
      unchanged,
      note,
    })
  } catch (error) {
    context.signal.throwIfAborted()
    const next = hasBuild ? `Call show_build with build ${build} and waitSeconds.` : 'Call show_environment in a while.'
    if (time.aborted) return facts({ environment: title, done: false, ...(hasBuild ? { build } : {}), next })
    if (!(error instanceof CallFailed) || !hasBuild) return failed(error)
    const ended = await readBuild(context, at, { build })
    const { reason, message, todo, help } = error
    const shown = shownBuild(ended, service.url)
    const why = ended.failure ?? ended.held
    const more = { todo: why?.todo ?? todo, help: shown.failure?.help ?? shown.held?.help ?? help, build: shown }
    return problem({ reason, message, ...more })
  }
}
