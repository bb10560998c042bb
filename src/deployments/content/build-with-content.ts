/**
 * Builds that survive their CMS. What the named hosts answer to a build is recorded. If one of them fails that answered the last
 * good build, a rebuild is not finished with what came so far: it is ended, and run again with the whole content of the last good
 * snapshot, so that no site is made of two states of its content. An upload goes on with the errors that it gets, as its sender
 * sees the result.
 */
import { join } from 'node:path'
import type { Environment } from '../../apps/index.ts'
import { toRfc3339 } from '../../base/index.ts'
import { type Build, type Builds, EARLIER_CONTENT, type FromSnapshot, type Size } from '../../builds/index.ts'
import { Problem, shortId } from '../../contract/index.ts'
import {
  type ContentView,
  createContentView,
  OutageFound,
  type Snapshot,
  type Snapshots,
} from '../../snapshots/index.ts'
import { isDatabaseAway } from '../../storage/index.ts'
import type { Progress } from '../deploy/progress.ts'

type Parts = {
  snapshots: Snapshots
  builds: Pick<Builds, 'madeFromSnapshot'>
  /** A folder of the build that is removed with it. */
  folder: string
  environment: Environment
  build: Build
  progress: Progress
  /** Rejects if it does not fit into the quota. */
  admit(size: Size): Promise<void>
}

/** The attempts of one build. `run` rejects, and keeps no output, where the content does not allow one. `reset` leaves only its source. */
export type Attempts = { run(content: ContentView | undefined): Promise<Build>; reset(): Promise<void> }

export async function buildWithContent(parts: Parts, { run, reset }: Attempts): Promise<Build> {
  const { snapshots, builds, environment, build, progress } = parts
  const { hosts } = environment.contentSnapshots ?? { hosts: [] }
  const last = await snapshots.records.lastGood(environment.id)
  const earlier = last && (await opened(parts, last))
  const secret = snapshots.secretOf(environment)
  const replaysLater = earlier !== undefined && build.trigger !== 'UPLOAD'
  const recording = createContentView({ hosts, secret, earlier, replays: false, endsAtOutage: replaysLater })
  // Of an attempt that a crash cut off.
  if (build.fromSnapshot) await builds.madeFromSnapshot(build.id, null)
  try {
    const made = await run(recording)
    await keep(parts, recording)
    return { ...made, fromSnapshot: null }
  } catch (error) {
    if (progress.signal.aborted || !recording.outage() || !replaysLater) throw error
    if (!(error instanceof OutageFound) && !(error instanceof Problem)) throw error
  }
  const outage = recording.outage()
  if (!outage || !last || !earlier) throw new Error('a build ended without a result')
  const from: FromSnapshot = {
    build: last.buildId,
    time: last.createTime,
    failed: { protocol: outage.protocol, host: outage.host, port: outage.port },
    message: `${outage.host} ${outage.why} (${outage.url}).`,
  }
  progress.say(`${from.message} It had answered the build ${shortId(last.buildId)}.`)
  progress.say(
    `The build is run again with the content of ${toRfc3339(last.createTime)}, which that build recorded (${last.answers} answers).`,
  )
  await reset()
  const replaying = createContentView({ hosts, secret, earlier, replays: true, endsAtOutage: false })
  // Before the output is recorded: if this process dies then, the next one goes on with it.
  await builds.madeFromSnapshot(build.id, from)
  const made = await run(replaying).catch(async (error) => {
    // Another process goes on, also with an output that is recorded by now.
    if (progress.signal.aborted || isDatabaseAway(error)) throw error
    await builds.madeFromSnapshot(build.id, null)
    throw notInSnapshot(replaying, from) ?? error
  })
  await snapshots.copy(environment, build.id, last)
  return { ...made, fromSnapshot: from }
}

/** Undefined, with a warning, if it cannot be read: the build goes on without it. */
async function opened({ snapshots, folder, progress }: Parts, last: Snapshot): Promise<string | undefined> {
  const into = join(folder, EARLIER_CONTENT)
  try {
    await snapshots.open(last, into)
    return into
  } catch {
    progress.say(`Warning: the content snapshot of the build ${shortId(last.buildId)} cannot be read.`)
    return undefined
  }
}

/** A snapshot that is not kept is no reason for a build to fail. */
async function keep({ snapshots, environment, build, progress, admit }: Parts, recording: ContentView) {
  const recorded = recording.recorded()
  const why = recording.incomplete()
  if (why !== undefined) return progress.say(`Warning: no content snapshot is kept, since ${why}.`)
  // A build without programs asks no server.
  if (!recorded) return
  try {
    await admit({ bytes: recorded.bytes, files: 1 })
    await snapshots.keep(environment, build.id, recorded)
    progress.say(`Recorded ${recorded.answers} answers of ${environment.contentSnapshots?.hosts.join(', ')}.`)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    progress.say(`Warning: no content snapshot is kept: ${error.message}`)
  }
}

/** The output would be one that was made without a part of its content. */
function notInSnapshot(replaying: ContentView, { failed, message }: FromSnapshot): Problem | undefined {
  const miss = replaying.miss()
  return (
    miss &&
    new Problem(
      'CMS_UNREACHABLE',
      `${message} The last content snapshot has no answer to ${miss.method} ${miss.url}, so the build could not be made from it.`,
      { metadata: { host: `${failed.host}:${failed.port}`, phase: 'BUILDING' } },
    )
  )
}
