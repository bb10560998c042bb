/**
 * From an archive to a stored output: unpack, plan, install, build. Packages are stored once they are installed, caches are
 * written once the whole build succeeded. If an attempt with caches of earlier builds failed, and they could be the cause, a
 * second attempt is made without them.
 */
import { posix } from 'node:path'
import { allVariables, type Environment } from '../../apps/index.ts'
import type { Archives } from '../../archives/index.ts'
import type { Clock } from '../../base/index.ts'
import {
  type Build,
  type Builds,
  bytesInWords,
  type CacheUse,
  createBuildCaches,
  createWorkspace,
  inWords,
  isFolderIn,
  type Made,
  mayBeCausedByCaches,
  type Outputs,
  type PackageStore,
  type Packages,
  type Plan,
  planSource,
  type RunContent,
  type RunParts,
  reasonToRetry,
  runPlan,
  type Size,
  shareDownloads,
  sourceInFolder,
  type Toolchain,
  type Toolchains,
  toFirstFailure,
  usesNode,
  type Workspace,
  warningsOf,
} from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import { makeAssetList, makeManifest, type SiteRules } from '../../edge/index.ts'
import type { Snapshots } from '../../snapshots/index.ts'
import { BlobNotFound, type Sql } from '../../storage/index.ts'
import type { Folders } from '../folders.ts'
import type { GetAppVariables } from './app-variables.ts'
import type { CacheCopies } from './cache-copies.ts'
import { recordContacts } from './contacts.ts'
import type { Progress } from './progress.ts'
import { compileSiteRules, describeRules, digestOfRules, type RuleTexts, readProjectRules } from './rules.ts'

type Parts = {
  sql: Sql
  clock: Clock
  archives: Archives
  builds: Builds
  outputs: Outputs
  packages: PackageStore
  toolchains: Pick<Toolchains, 'open' | 'own' | 'resolve' | 'adapters'>
  run: RunParts
  folders: Folders
  appVariables: GetAppVariables
  diskSpace: BuildSpace
  cacheCopies: Pick<CacheCopies, 'fetch'>
  snapshots: Snapshots
  /** Hosts that rewrites of static sites may lead to. */
  rewriteHosts: readonly string[]
}

/** Whether the files of a build fit into the quota and onto the disk. Rejects with what would free space. */
export type BuildSpace = {
  /** Before it begins, by the size of the last output. */
  forBuild(environment: Environment, build: Build): Promise<void>
  /** Once the size of the files is known. */
  toKeep(environment: Environment, size: Size): Promise<void>
}

/** Layers that are known before the build is over are pushed beside it. */
export type PrepareImage = {
  prepareBase(toolchain: Toolchain, plan: Plan): void
  preparePackages(plan: Plan, packagesId: string): void
}

/** What records the content. */
type Content = RunContent & { outage(): unknown; check(): void }

type Ready = {
  environment: Environment
  build: Build
  progress: Progress
  image: PrepareImage
  place: Workspace
  plan: Plan
  toolchain: Toolchain
  /** Redirects and headers that the project has outside of its output. */
  projectRules: RuleTexts
}

export function createMake(parts: Parts) {
  const { sql, archives, builds, outputs, packages, toolchains, folders } = parts

  return async function make(
    environment: Environment,
    build: Build,
    progress: Progress,
    image: PrepareImage,
  ): Promise<Build> {
    const place = createWorkspace({
      folder: folders.work(environment.id, build.id),
      user: folders.userOf(environment),
      isLayered: parts.run.engine.overlayMissing === undefined,
    })
    await parts.diskSpace.forBuild(environment, build)
    await folders.prepare(environment.id)
    await unpack(archives, build, progress, place)
    for (const note of build.archive.commit?.notes ?? []) progress.say(`Warning: ${note}`)
    await progress.enter('PLANNING')
    const plan = await planSource(await sourceInFolder(place.source), environment.rootDirectory, environment.accountId)
    await builds.planned(build.id, plan)
    for (const reason of plan.detectedBy) progress.say(reason)
    const toolchain = await equip(environment, build, plan, progress)
    const projectRules = await readProjectRules(place.source, environment.rootDirectory)
    image.prepareBase(toolchain, plan)
    const ready = { environment, build, progress, image, place, plan, toolchain, projectRules }
    if (!environment.contentSnapshots || !plan.build) return attempts(ready, undefined)
    const { buildWithContent } = await import('../content/build-with-content.ts')
    return buildWithContent(
      {
        ...{ environment, build, progress, builds, snapshots: parts.snapshots },
        folder: folders.work(environment.id, build.id),
        admit: (size) => parts.diskSpace.toKeep(environment, size),
      },
      { run: (content) => attempts(ready, content), reset: () => reset(ready) },
    )
  }

  async function attempts(ready: Ready, content: Content | undefined): Promise<Build> {
    const uses: CacheUse[] = []
    const { build } = ready
    try {
      return await attempt(ready, build.isClean, uses, content)
    } catch (error) {
      // Caches are not the cause.
      if (content?.outage()) throw error
      await prepareSecondAttempt(ready, uses, error)
      return attempt(ready, true, [], content)
    }
  }

  async function reset({ build, progress, place }: Ready) {
    if (place.isLayered) await place.keepOnlySource()
    else await unpack(archives, build, progress, place)
  }

  /** The versions of the last build if they still satisfy the plan, so that a rebuild changes nothing but the content. */
  async function equip(environment: Environment, build: Build, plan: Plan, progress: Progress): Promise<Toolchain> {
    const { signal } = progress
    const before = await builds.lastTools(environment.id)
    const wanted = { node: plan.node, nodeSetBy: plan.nodeSetBy, packageManager: plan.packageManager }
    const { exact, notes } = await toolchains.resolve(wanted, { before, isFresh: build.isClean, signal })
    for (const note of notes) progress.say(note)
    const toolchain = await toolchains.open(exact, { signal, onFetch: (what) => progress.say(`Fetching ${what}.`) })
    await builds.equipped(build.id, exact)
    if (!usesNode(plan)) return toolchain
    const manager = toolchain.packageManager
    progress.say(`Node ${toolchain.node}${manager ? ` and ${manager.name} ${manager.version}` : ''}.`)
    for (const warning of warningsOf(plan, toolchain, parts.clock.now())) progress.say(`Warning: ${warning}`)
    const { engine, limits } = parts.run
    const disk = limits.diskBytes === null ? '' : `, ${bytesInWords(limits.diskBytes)} of disk`
    const memory = `${bytesInWords(limits.memoryBytes)} of memory`
    progress.say(`It may use ${memory}${disk} and ${limits.processes} processes and threads: ${engine.limits}.`)
    return toolchain
  }

  /** Rejects with the error of the first attempt where caches cannot be its cause. */
  async function prepareSecondAttempt(ready: Ready, uses: CacheUse[], error: unknown) {
    const { build, progress, place, plan } = ready
    if (progress.signal.aborted || !(error instanceof Problem)) throw error
    const because = reasonToRetry(uses)
    if (because === undefined || !(await mayBeCausedByCaches(error, place, plan))) throw error
    progress.fail(error.message)
    progress.say(because)
    await builds.retried(build.id, toFirstFailure(error, Number(error.metadata.logLine ?? 0), because))
    await reset(ready)
  }

  /** `uses` is filled with the caches that were used, also when the attempt fails. */
  async function attempt(ready: Ready, isClean: boolean, uses: CacheUse[], content?: Content): Promise<Build> {
    const { environment, build, progress, place, plan, toolchain } = ready
    const { log, signal } = progress
    if (!isClean) await parts.cacheCopies.fetch(ready)
    const folder = await folders.cache(environment)
    const caches = createBuildCaches({ folder, workspace: place, plan, node: toolchain.node, isClean, log })
    const variables = await parts.appVariables(environment, allVariables(environment), build.id, 'build')
    let packagesId: string | undefined
    let made: Made
    try {
      made = await runPlan(parts.run, {
        plan,
        workspace: place,
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
        content,
        async enter(phase) {
          if (phase === 'BUILDING' && packagesId !== undefined) ready.image.preparePackages(plan, packagesId)
          await progress.enter(phase)
        },
        contacted: (contacts) => recordContacts(contacts, { ...ready, builds }),
        claim(id) {
          packagesId = id
          return sql.transaction((tx) => builds.claimPackages(tx, build.id, id))
        },
        admit(fresh) {
          packagesId = fresh.id
          return admitPackages(ready, fresh)
        },
      })
    } finally {
      uses.push(...caches.uses())
      await builds.used(build.id, caches.uses())
    }
    // An output that is recorded goes live, even if this process dies at the next line.
    content?.check()
    if (made.plan !== plan) await builds.planned(build.id, made.plan)
    const kept = await keep(ready, made)
    await caches.commit()
    const given = { accountId: environment.accountId, plan, workspace: place, store: caches.storeFolder }
    await shareDownloads(parts.run.tarballs, { ...given, installed: made.installed, say: progress.say })
    await builds.used(build.id, caches.uses())
    return kept
  }

  async function admitPackages({ environment, build }: Ready, fresh: Packages) {
    await builds.releasePackagesOfFailed(environment.id, build.id)
    await parts.diskSpace.toKeep(environment, fresh)
    await sql.transaction(async (tx) => {
      await packages.record(tx, environment.accountId, fresh)
      await builds.claimPackages(tx, build.id, fresh.id)
    })
  }

  async function keep(
    { environment, build, progress, toolchain, projectRules }: Ready,
    { plan, output, installed }: Made,
  ): Promise<Build> {
    const needsPackages = output.source !== undefined && installed !== null
    const { rules, warnings } = await compileSiteRules({
      project: projectRules,
      files: output.files,
      plan,
      allowedHosts: parts.rewriteHosts,
    })
    for (const warning of warnings) progress.say(`Warning: ${warning}`)
    if (rules) progress.say(describeRules(rules))
    const owner = ownerOf(environment, plan, needsPackages ? installed.packages.wanted : '', digestOfRules(rules))
    const { digest, ...size } = await outputs.keep(output, owner, {
      prepare: (files, edgeFolder) => prepareForEdge(plan, rules, files, edgeFolder),
      isServed: plan.output.kind === 'static',
      admit: (size) => parts.diskSpace.toKeep(environment, size),
      record: (kept, size) => builds.built(build.id, kept, size),
    })
    progress.say(`The output is ${inWords(size)}.`)
    const tools = { node: toolchain.node, packageManager: toolchain.packageManager }
    return { ...build, plan, tools, output: digest, packagesId: installed?.packages.id ?? null }
  }
}

async function unpack(archives: Archives, build: Build, progress: Progress, place: Workspace) {
  await progress.enter('UNPACKING')
  await place.empty()
  const options = { ...place.user, signal: progress.signal }
  const unpacked = await archives.unpack(build.archive.digest, place.source, options).catch(archiveMissing)
  progress.say(`Unpacked ${inWords(unpacked)}.`)
  if (unpacked.strippedFolder) progress.say(`The top folder ${unpacked.strippedFolder} was removed.`)
  if (unpacked.skipped.nodeModules) progress.say(`Skipped node_modules (${unpacked.skipped.nodeModules} entries).`)
  if (unpacked.skipped.git) progress.say(`Skipped .git (${unpacked.skipped.git} entries).`)
}

/** Outputs are never shared between environments, nor between ways to serve the same files. */
const ownerOf = ({ id }: Environment, { output }: Plan, packages: string, rules: string): string =>
  `${id} ${packages} ${JSON.stringify(output)}${rules === '' ? '' : ` ${rules}`}`

export async function prepareForEdge(
  { output, rootDirectory }: Plan,
  rules: SiteRules | undefined,
  files: string,
  edgeFolder: string,
) {
  if (output.kind === 'static') {
    const { singlePage, basePath } = output
    return makeManifest(files, edgeFolder, { singlePage, basePath, rules })
  }
  // An output of everything begins at the top of the archive.
  const top = output.folder === '.' ? rootDirectory : ''
  const assets = (output.assets ?? []).map(({ folder, address }) => ({ folder: posix.join(top, folder), address }))
  const there = await Promise.all(assets.map(({ folder }) => isFolderIn(files, folder)))
  const found = assets.filter((_, at) => there[at])
  if (found.length > 0) await makeAssetList(files, edgeFolder, found)
}

/** Earlier versions removed archives that can be rolled back to. */
function archiveMissing(error: unknown): never {
  if (!(error instanceof BlobNotFound)) throw error
  throw new Problem(
    'NOTHING_UPLOADED',
    'The archive of this build is not stored any more. Upload it again, or end the pin of the environment to build the newest upload.',
  )
}
