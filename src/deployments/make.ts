/**
 * From an archive to an output that is kept: unpack, plan, install, build. Packages are kept once they are installed, caches
 * are written once all of it went well. An attempt that failed with something of earlier builds in it is made once more
 * without, where that could have been the cause.
 */
import type { Environment } from '../apps/index.ts'
import type { Archives } from '../archives/index.ts'
import type { Clock } from '../base/index.ts'
import {
  type Build,
  type Builds,
  bytesInWords,
  type CacheUse,
  createBuildCaches,
  createWorkplace,
  inWords,
  type Made,
  mayBeCausedByCaches,
  type Outputs,
  type PackageStore,
  type Packages,
  type Plan,
  planSource,
  type RunParts,
  reasonToRetry,
  runPlan,
  type Size,
  sourceInFolder,
  type Toolchain,
  type Toolchains,
  toFirstFailure,
  usesNode,
  type Workplace,
  warningsOf,
} from '../builds/index.ts'
import { Problem } from '../contract/index.ts'
import { makeManifest } from '../edge/index.ts'
import { type Contact, type ContactOutcome, newContacts } from '../engines/index.ts'
import { BlobNotFound, type Sql } from '../storage/index.ts'
import type { GetAppVariables } from './app-variables.ts'
import type { Folders } from './folders.ts'
import type { Story } from './story.ts'
import { outcomeInWords } from './suspicion.ts'

type Parts = {
  sql: Sql
  clock: Clock
  archives: Archives
  builds: Builds
  outputs: Outputs
  packages: PackageStore
  toolchains: Toolchains
  run: RunParts
  folders: Folders
  appVariables: GetAppVariables
  room: Room
}

/** Whether what a build leaves fits beside everything else. Rejects with what would make room. */
export type Room = {
  /** Before it begins, going by what the last one left. */
  forBuild(environment: Environment, build: Build): Promise<void>
  /** Once it is known how much is to be kept. */
  toKeep(environment: Environment, size: Size): Promise<void>
}

type Ready = {
  environment: Environment
  build: Build
  story: Story
  place: Workplace
  plan: Plan
  toolchain: Toolchain
}

export function createMake(parts: Parts) {
  const { sql, archives, builds, outputs, packages, toolchains, folders } = parts

  return async function make(environment: Environment, build: Build, story: Story): Promise<Build> {
    const place = createWorkplace({
      folder: folders.work(environment.id, build.id),
      user: folders.userOf(environment),
      isLayered: parts.run.engine.overlayMissing === undefined,
    })
    await parts.room.forBuild(environment, build)
    await folders.prepare(environment.id)
    await unpack(build, story, place)
    await story.enter('PLANNING')
    const plan = await planSource(await sourceInFolder(place.source), environment.rootDirectory, environment.accountId)
    await builds.planned(build.id, plan)
    for (const reason of plan.detectedBy) story.say(reason)
    const toolchain = await equip(environment, build, plan, story)
    return attemptTwice({ environment, build, story, place, plan, toolchain })
  }

  async function unpack(build: Build, story: Story, place: Workplace) {
    await story.enter('UNPACKING')
    await place.empty()
    const options = { ...place.user, signal: story.signal }
    const unpacked = await archives.unpack(build.archive.digest, place.source, options).catch(archiveMissing)
    story.say(`Unpacked ${inWords(unpacked)}.`)
    if (unpacked.strippedFolder) story.say(`The folder ${unpacked.strippedFolder} around everything was taken off.`)
    if (unpacked.skipped.nodeModules) story.say(`Skipped node_modules (${unpacked.skipped.nodeModules} entries).`)
    if (unpacked.skipped.git) story.say(`Skipped .git (${unpacked.skipped.git} entries).`)
  }

  /** The same versions as last time while they will do, so that a rebuild changes nothing but the content. */
  async function equip(environment: Environment, build: Build, plan: Plan, story: Story): Promise<Toolchain> {
    const { signal } = story
    const before = await builds.lastTools(environment.id)
    const wanted = { node: plan.node, nodeSetBy: plan.nodeSetBy, packageManager: plan.packageManager }
    const { exact, notes } = await toolchains.resolve(wanted, { before, isFresh: build.isClean, signal })
    for (const note of notes) story.say(note)
    const toolchain = await toolchains.open(exact, { signal, onFetch: (what) => story.say(`Fetching ${what}.`) })
    await builds.equipped(build.id, exact)
    if (!usesNode(plan)) return toolchain
    const manager = toolchain.packageManager
    story.say(`Node ${toolchain.node}${manager ? ` and ${manager.name} ${manager.version}` : ''}.`)
    for (const warning of warningsOf(plan, toolchain, parts.clock.now())) story.say(`Warning: ${warning}`)
    const { engine, limits } = parts.run
    const disk = limits.diskBytes === null ? '' : `, ${bytesInWords(limits.diskBytes)} of disk`
    const memory = `${bytesInWords(limits.memoryBytes)} of memory`
    story.say(`It may use ${memory}${disk} and ${limits.processes} processes and threads: ${engine.limits}.`)
    return toolchain
  }

  async function attemptTwice(ready: Ready): Promise<Build> {
    const { build, story, place } = ready
    const uses: CacheUse[] = []
    try {
      return await attempt(ready, build.isClean, uses)
    } catch (error) {
      if (story.signal.aborted || !(error instanceof Problem)) throw error
      const because = reasonToRetry(uses)
      if (because === undefined || !(await mayBeCausedByCaches(error, place, ready.plan))) throw error
      story.fail(error.message)
      story.say(because)
      await builds.retried(build.id, toFirstFailure(error, Number(error.metadata.logLine ?? 0), because))
      if (place.isLayered) await place.keepOnlySource()
      else await unpack(build, story, place)
      return await attempt(ready, true, [])
    }
  }

  /** `uses` tells the caller what went into it, also when it fails. */
  async function attempt(ready: Ready, isClean: boolean, uses: CacheUse[]): Promise<Build> {
    const { environment, build, story, place, plan, toolchain } = ready
    const { log, signal } = story
    const folder = await folders.cache(environment)
    const caches = createBuildCaches({ folder, place, plan, node: toolchain.node, isClean, log })
    const variables = await parts.appVariables(environment, environment.variables, build.id, 'build')
    let made: Made
    try {
      made = await runPlan(parts.run, {
        plan,
        place,
        caches,
        toolchain,
        adapters: toolchains.adapters,
        archive: build.archive.digest,
        accountId: environment.accountId,
        environmentId: environment.id,
        isClean,
        variables: variables.own,
        metadata: variables.metadata,
        log,
        signal,
        enter: story.enter,
        contacted: (contacts) => noteContacts(ready, contacts),
        claim: (packagesId) => sql.transaction((tx) => builds.claimPackages(tx, build.id, packagesId)),
        admit: (fresh) => admitPackages(ready, fresh),
      })
    } finally {
      uses.push(...caches.uses())
      await builds.used(build.id, caches.uses())
    }
    if (made.plan !== plan) await builds.planned(build.id, made.plan)
    const kept = await keep(ready, made)
    await caches.commit()
    await builds.used(build.id, caches.uses())
    return kept
  }

  /** Those that are new are said: a dependency that calls somebody else than yesterday is worth a look. */
  async function noteContacts({ environment, build, story }: Ready, called: readonly Contact[]) {
    const contacts = newContacts(called, await builds.contactsBefore(environment.id, build.id))
    await builds.contacted(build.id, contacts)
    const refused = contacts.filter(({ isRefused }) => isRefused)
    const fresh = contacts.filter(({ isNew, isRefused }) => isNew && !isRefused)
    const failed = contacts.filter(isFailed)
    if (fresh.length > 0) story.say(`It called who was not called before: ${contactsInWords(fresh)}.`)
    if (failed.length > 0) story.say(`It could not reach ${contactsInWords(failed, outcomeInWords)}.`)
    if (refused.length > 0) {
      const named = contactsInWords(refused)
      story.say(`The network did not let it call ${named}. The operator opens a place by the setting allowedNetworks.`)
    }
  }

  async function admitPackages({ environment, build }: Ready, fresh: Packages) {
    await builds.letGoOfFailed(environment.id, build.id)
    await parts.room.toKeep(environment, fresh)
    await sql.transaction(async (tx) => {
      await packages.record(tx, environment.accountId, fresh)
      await builds.claimPackages(tx, build.id, fresh.id)
    })
  }

  async function keep(
    { environment, build, story, toolchain }: Ready,
    { plan, output, installed }: Made,
  ): Promise<Build> {
    const needsPackages = output.source !== undefined && installed !== null
    const owner = ownerOf(environment, plan, needsPackages ? installed.packages.wanted : '')
    const { digest, ...size } = await outputs.keep(output, owner, {
      prepare: (files, edgeFolder) => prepareForEdge(plan, files, edgeFolder),
      isServed: plan.output.kind === 'static',
      admit: (size) => parts.room.toKeep(environment, size),
      record: (kept, size) => builds.built(build.id, kept, size),
    })
    story.say(`The output is ${inWords(size)}.`)
    const tools = { node: toolchain.node, packageManager: toolchain.packageManager }
    return { ...build, plan, tools, output: digest, packagesId: installed?.packages.id ?? null }
  }
}

const NAMED_MOST = 10

/** What the rules forbid is said apart. A message by UDP may want no answer. */
const isFailed = ({ outcome, protocol }: Contact): boolean =>
  outcome === 'CONNECTION_REFUSED' || outcome === 'NAME_NOT_RESOLVED' || (outcome === 'NO_ANSWER' && protocol === 'tcp')

function contactsInWords(contacts: readonly Contact[], why?: (outcome: ContactOutcome) => string): string {
  const names = contacts.map(({ host, addresses, port, outcome }) => {
    const name = `${host ?? addresses[0]}${port === null ? '' : `:${port}`}`
    return why && outcome ? `${name} (it ${why(outcome)})` : name
  })
  const more = names.length - NAMED_MOST
  return names.slice(0, NAMED_MOST).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** Outputs are never shared between environments, nor between ways to serve the same files. */
const ownerOf = ({ id }: Environment, { output }: Plan, packages: string): string =>
  `${id} ${packages} ${JSON.stringify(output)}`

async function prepareForEdge({ output }: Plan, files: string, edgeFolder: string) {
  if (output.kind !== 'static') return
  const { singlePage, basePath } = output
  await makeManifest(files, edgeFolder, { singlePage, basePath })
}

/** Earlier versions removed archives that can be rolled back to. */
function archiveMissing(error: unknown): never {
  if (!(error instanceof BlobNotFound)) throw error
  throw new Problem(
    'NOTHING_UPLOADED',
    'The archive of this build is not stored any more. Upload it again, or end the pin of the environment to build the newest upload.',
  )
}
