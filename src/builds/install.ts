/**
 * The packages of an app: those that an earlier build installed from the very same, or newly installed ones. Where layers
 * are possible, an install sees nothing but the files that decide its result, so that what comes of it can be used wherever
 * those are the same.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Digest } from '../storage/index.ts'
import type { BuildCaches } from './caches.ts'
import { nativePackagesMissing, parsePackageLock } from './diagnose/native-packages.ts'
import { sizeOf } from './inside.ts'
import { packageStoreOf } from './on-demand.ts'
import type { PackageStore, Packages } from './packages.ts'
import type { Install, Plan } from './plan.ts'
import { type Runner, runStep } from './step.ts'
import { inWords } from './words.ts'
import { type View, WORK, type Workplace } from './workplace.ts'

export type Installation = {
  plan: Plan
  place: Workplace
  caches: BuildCaches
  packages: PackageStore
  archive: Digest
  accountId: string
  environmentId: string
  isClean: boolean
  /** What the tenant has set, by name. */
  variables: Readonly<Record<string, string>>
  /** Variables of every step. */
  environment: Readonly<Record<string, string>>
  deadlineMs: number
  /** From here on nobody takes these packages away from the build. False if somebody already did. */
  claim(packagesId: string): Promise<boolean>
}

/** What lies under a build: kept packages, or new ones that `changes` holds until the build has succeeded. */
export type Installed = { packages: Packages; layer: string; changes: string | null } | null

/** Without layers it leaves the packages in the source, and nothing to lay under. */
export async function install(runner: Runner, given: Installation, step: Install): Promise<Installed> {
  const { plan, place, packages } = given
  const { log } = runner
  if (!place.isLayered) {
    await runStep(runner, await stepOf(given, step, await place.view('install', []), given.variables))
    return null
  }
  const variables = step.inputs === null ? given.variables : installerVariables(given, await settingsOf(given, step))
  const wanted = await wantedBy(runner, given, step, variables)
  const found = wanted === null || given.isClean ? undefined : await packages.find(wanted)
  if (found && (await given.claim(found.id))) {
    log.say(
      'INSTALLING',
      `Nothing to install: ${basisOf(plan, step)} as before, ${inWords(found)} of packages are there.`,
    )
    given.caches.note('packages', 'HIT', found.bytes)
    return { packages: found, layer: packages.folderOf(found.id), changes: null }
  }
  given.caches.note('packages', given.isClean ? 'DROPPED' : 'MISS', 0)
  if (wanted === null) log.say('INSTALLING', 'There is no lockfile: versions are chosen now, and may differ next time.')
  const below = step.inputs === null ? place.source : await copyInputs(place, step.inputs)
  const view = await place.view('install', [below])
  await runStep(runner, await stepOf(given, step, view, variables))
  const changes = view.layers[0] as string
  // Whoever uses them next may be another user: changes go to a layer of its own, so this lets nobody in.
  if (place.user) await promisify(execFile)('chmod', ['-R', 'a+rwX', changes])
  const size = await sizeOf(changes)
  log.say('INSTALLING', `Installed ${inWords(size)}.`)
  await sayWhatIsMissing(runner, given, step, changes)
  const id = packages.newId()
  return { packages: { id, wanted: wanted ?? id, ...size }, layer: changes, changes }
}

/**
 * npm says nothing when a package for this platform is not there, and the build fails later with words that blame something
 * else.
 */
async function sayWhatIsMissing(
  { log }: Runner,
  { plan, place }: Installation,
  { folder }: Install,
  installed: string,
) {
  const { name, lockfile } = plan.packageManager ?? {}
  if (name !== 'npm' || !lockfile) return
  const lock = parsePackageLock(await readFile(join(place.source, lockfile), 'utf8'))
  const platform = { os: process.platform, cpu: process.arch, libc: libcOfMachine() }
  const isThere = (path: string) => existsSync(join(installed, folder, path))
  for (const missing of nativePackagesMissing(lock, platform, isThere)) {
    log.say('INSTALLING', `The native package ${missing} is missing for ${platform.os}-${platform.cpu}.`)
  }
}

/** Node tells which one it was linked with, which is the machine's. */
function libcOfMachine(): 'glibc' | 'musl' {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
}

async function stepOf(given: Installation, step: Install, view: View, variables: Readonly<Record<string, string>>) {
  const { plan, caches, environment, deadlineMs } = given
  const store = await packageStoreOf(plan.packageManager)
  const kept = await caches.store()
  return {
    phase: 'INSTALLING' as const,
    argv: step.argv,
    cwd: join(WORK, step.folder),
    environment: { ...plan.environment, ...variables, ...environment, ...store.environment },
    view,
    mounts: [kept.mount],
    overlays: kept.overlays,
    deadlineMs,
  }
}

/** Whether npm's lockfile has a checksum for every package that comes from elsewhere. */
async function isPinned({ plan, place }: Installation): Promise<boolean> {
  const { packages } = JSON.parse(await readFile(join(place.source, plan.packageManager?.lockfile ?? ''), 'utf8'))
  const entries: [string, Record<string, unknown>][] = Object.entries(packages ?? {})
  const foreign = entries.filter(([path, { link, inBundle }]) => path.includes('node_modules/') && !link && !inBundle)
  return foreign.length > 0 && foreign.every(([, { integrity }]) => typeof integrity === 'string')
}

/**
 * A digest of everything that the result depends on; null when nothing pins the versions. npm checks what it takes out of
 * its store against the lockfile, so what comes of it is the same for every environment of the account; what comes of the
 * others stays with one.
 */
async function wantedBy(
  { toolchain }: Runner,
  given: Installation,
  { argv, folder, inputs }: Install,
  variables: Readonly<Record<string, string>>,
): Promise<string | null> {
  const { plan, place, archive } = given
  if (!plan.packageManager?.lockfile) return null
  const isShared = inputs !== null && (await packageStoreOf(plan.packageManager)).isVerified && (await isPinned(given))
  const hash = createHash('sha256')
  const add = (...values: unknown[]) => hash.update(`${JSON.stringify(values)}\n`)
  add('packages', 1, isShared ? given.accountId : given.environmentId)
  add(process.platform, process.arch, toolchain.node, toolchain.packageManager, argv, folder)
  add(Object.entries(variables).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  if (inputs === null) add(archive)
  else for (const path of inputs) add(path, digestOf(await readFile(join(place.source, path))))
  return hash.digest('hex')
}

const digestOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

/** They are few and small. Links are not followed: unpacking made them, and the plan names files alone. */
async function copyInputs(place: Workplace, inputs: readonly string[]): Promise<string> {
  const folder = await place.makeFolder('inputs')
  for (const path of inputs) {
    if (dirname(path) !== '.') await place.makeFolder('inputs', ...dirname(path).split('/'))
    await copyFile(join(place.source, path), join(folder, path))
  }
  return folder
}

/** The text of the settings files among the inputs, where variables may be named. */
async function settingsOf({ place }: Installation, { inputs }: Install): Promise<string> {
  const files = (inputs ?? []).filter((path) => SETTINGS_FILE.test(path))
  const texts = await Promise.all(files.map((path) => readFile(join(place.source, path), 'utf8')))
  return texts.join('\n')
}

const SETTINGS_FILE = /(^|\/)(\.npmrc|\.yarnrc|\.yarnrc\.yml|bunfig\.toml|pnpm-workspace\.yaml)$/

/**
 * What package managers and installers read of the tenant's variables. The others are none of a dependency's business: an
 * install script that somebody smuggled into a package finds no key of the CMS.
 */
function installerVariables({ variables }: Installation, settings: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => INSTALLER_VARIABLE.test(name) || settings.includes(`\${${name}`)),
  )
}

const INSTALLER_VARIABLE =
  /^(npm_|NPM_|YARN_|PNPM_|BUN_|NODE_(?!ENV$)|npm-)|(_MIRROR|_CDNURL|_BINARY_HOST|_SKIP_DOWNLOAD|_SKIP_BROWSER_DOWNLOAD)$/

const basisOf = ({ packageManager }: Plan, { inputs }: Install): string =>
  inputs === null ? 'the source is' : `${packageManager?.lockfile} is`
