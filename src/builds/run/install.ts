/**
 * The packages of an app: those that an earlier build installed from the same inputs, or newly installed ones. Where overlays
 * are possible, an install sees only the files that decide its result, so that its result can be reused wherever these files
 * are the same.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { Problem } from '../../contract/index.ts'
import type { Digest } from '../../storage/index.ts'
import type { Missing } from '../diagnose/native-packages.ts'
import type { Lockfile } from '../isolated/lockfile.ts'
import { MACHINE, missingNatives, readInstalled, readNpmLockfile } from '../isolated/npm-lockfile.ts'
import { packageStoreOf } from '../isolated/on-demand.ts'
import type { Install, Plan } from '../plan/plan.ts'
import type { BuildCaches } from './caches.ts'
import { type Lockfile as KeptLockfile, lockfileLayer, writtenLockfile } from './kept-lockfile.ts'
import { inWords } from './log-words.ts'
import { type PackageStore, type Packages, UNLOCKED } from './packages.ts'
import { type Runner, runStep } from './step.ts'
import type { TarballStore } from './tarballs.ts'
import { SWITCHES } from './tool-variables.ts'
import { openFileIn, sizeOf, textIn } from './untrusted-folder.ts'
import { type View, WORK, type Workspace } from './workspace.ts'

export type Installation = {
  plan: Plan
  workspace: Workspace
  caches: BuildCaches
  packages: PackageStore
  tarballs: TarballStore
  archive: Digest
  accountId: string
  environmentId: string
  isClean: boolean
  /** What the tenant has set, by name. */
  variables: Readonly<Record<string, string>>
  /** Variables of every step, whatever the tenant has set. */
  environment: Readonly<Record<string, string>>
  deadlineMs: number
  /** Protects these packages from garbage collection. False if they are gone already. */
  claim(packagesId: string): Promise<boolean>
  /** Records new packages and claims them for the build. Rejects where they exceed the quota of the account. */
  admit(packages: Packages): Promise<void>
}

/** Installed packages as a lower layer of the build: the build's changes go to a layer of their own. */
export type Installed = {
  packages: Packages
  layer: string
  /** Native packages that should be there, as far as that is known. */
  missing: readonly Missing[]
  /** What was installed now, by the checksums of the lockfile: other apps of the account may use these downloads. */
  tarballs: readonly string[]
} | null

/** Without overlays the packages are installed into the source, and the result is null. */
export async function install(runner: Runner, given: Installation, step: Install): Promise<Installed> {
  const { plan, workspace, packages } = given
  const { log } = runner
  if (!workspace.isLayered) {
    await runStep(
      runner,
      await stepOf(given, step, await workspace.view('install', []), { variables: given.variables }),
    )
    return null
  }
  const variables =
    step.inputs === null ? given.variables : installerVariables(given, await namesInSettings(given, step))
  const lockfile = await npmLockfileOf(given)
  const basis = await digestOfInputs(runner, given, step, { variables, lockfile })
  const isLocked = Boolean(plan.packageManager?.lockfile)
  const kept = isLocked ? undefined : await given.caches.lockfile(basis)
  const wanted = isLocked ? basis : kept && unlockedDigest(kept)
  const found = wanted === undefined || given.isClean ? undefined : await packages.find(wanted)
  if (found && (await given.claim(found.id))) {
    log.say('INSTALLING', `Nothing to install: ${reasonToReuse(plan, step)} ${inWords(found)} of packages are reused.`)
    if (kept) given.caches.keepLockfile(kept)
    given.caches.note('packages', 'HIT', found.bytes)
    const layer = packages.folderOf(found.id)
    const installed = join(layer, step.folder)
    const missing = await missingPackages(await lockfileOfInstalled(given, lockfile, installed), installed)
    return { packages: found, layer, missing, tarballs: [] }
  }
  given.caches.note('packages', given.isClean ? 'DROPPED' : 'MISS', 0)
  if (!isLocked) log.say('INSTALLING', kept ? SAME_VERSIONS : NEW_VERSIONS)
  const below = step.inputs === null ? workspace.source : await copyInputs(workspace, step.inputs)
  const view = await workspace.view('install', [...(kept ? [await lockfileLayer(workspace, kept)] : []), below])
  const shared = await sharedTarballs(runner, given, lockfile)
  await runStep(runner, await stepOf(given, step, view, { variables, shared }))
  const changes = view.layers[0] as string
  // The next build may run as another user. Write access is harmless: builds write to a layer of their own.
  if (workspace.user) await promisify(execFile)('chmod', ['-R', 'a+rwX', changes])
  const size = await sizeOf(changes)
  log.say('INSTALLING', `Installed ${inWords(size)}.`)
  const known = await lockfileOfInstalled(given, lockfile, join(changes, step.folder))
  const missing = await missingPackages(known, join(changes, step.folder))
  for (const native of missing.slice(0, MAX_NAMED)) log.say('INSTALLING', missingSentence(native))
  const id = packages.newId()
  const written = isLocked ? undefined : ((await lockfileIn(given, step, { changes, basis })) ?? kept)
  if (written) given.caches.keepLockfile(written)
  const fresh: Packages = { id, wanted: isLocked ? basis : written ? unlockedDigest(written) : id, ...size }
  // Kept before the build begins: if it fails, the next build with the same lockfile can still use them.
  await given.admit(fresh)
  await packages.keep(changes, id)
  given.caches.saved('packages', size.bytes)
  return { packages: fresh, layer: packages.folderOf(id), missing, tarballs: known?.tarballs ?? [] }
}

const NEW_VERSIONS =
  'There is no lockfile: the package manager chooses the versions now. Rebuilds use the same ones until package.json changes; a Clean Rebuild looks for newer ones.'
const SAME_VERSIONS =
  'There is no lockfile: the versions of the last good build are installed again. A Clean Rebuild looks for newer ones.'

/** What packages without a lockfile of the app are found by. */
const unlockedDigest = ({ basis, path, text }: KeptLockfile): string =>
  `${UNLOCKED}${createHash('sha256')
    .update(JSON.stringify([basis, path, text]))
    .digest('hex')}`

async function lockfileIn(
  { plan }: Installation,
  { folder }: Install,
  { changes, basis }: { changes: string; basis: string },
): Promise<KeptLockfile | undefined> {
  const { lockfiles } = await packageStoreOf(plan.packageManager)
  return writtenLockfile(changes, { basis, folder, names: lockfiles })
}

/** Undefined where another package manager installs, or where there is no lockfile. */
async function npmLockfileOf({ plan, workspace }: Installation): Promise<Lockfile | undefined> {
  const { name, lockfile } = plan.packageManager ?? {}
  return name === 'npm' && lockfile ? readNpmLockfile(workspace.source, lockfile) : undefined
}

const MAX_NAMED = 20
const MAX_NAME_LENGTH = 214

/** For an app without a lockfile, the one that npm has written beside the packages. Other managers leave none. */
async function lockfileOfInstalled({ plan }: Installation, lockfile: Lockfile | undefined, installed: string) {
  return plan.packageManager?.name === 'npm' ? (lockfile ?? (await readInstalled(installed))) : undefined
}

/**
 * npm does not report a missing package for this platform, and the build fails later with a misleading message. Other
 * managers leave no file from which this can be seen quickly.
 */
const missingPackages = async (known: Lockfile | undefined, installed: string): Promise<readonly Missing[]> =>
  known ? missingNatives(known, installed) : []

function missingSentence({ name, parent }: Missing): string {
  const who = parent ? `, which ${parent.name.slice(0, MAX_NAME_LENGTH)} ${parent.version} asks for` : ''
  return `The native package ${name.slice(0, MAX_NAME_LENGTH)} is missing for ${MACHINE.os}-${MACHINE.cpu}${who}.`
}

/** A layer for the store with what the lockfile asks for and builds of the account have downloaded before. */
async function sharedTarballs(
  { log }: Runner,
  { plan, tarballs, accountId, workspace, isClean }: Installation,
  lockfile: Lockfile | undefined,
): Promise<string | undefined> {
  const { tarballs: path } = await packageStoreOf(plan.packageManager)
  if (isClean || !lockfile || path === undefined) return undefined
  const laid = await tarballs.lay(accountId, lockfile.tarballs, { workspace, path })
  if (!laid) return undefined
  log.say('INSTALLING', `Downloaded before by a build of this account, and checked: ${inWords(laid)} of packages.`)
  return laid.layer
}

async function stepOf(
  given: Installation,
  step: Install,
  view: View,
  { variables, shared }: { variables: Readonly<Record<string, string>>; shared?: string | undefined },
) {
  const { plan, caches, environment, deadlineMs } = given
  const store = await packageStoreOf(plan.packageManager)
  const kept = await caches.store(shared)
  return {
    phase: 'INSTALLING' as const,
    argv: step.argv,
    cwd: join(WORK, step.folder),
    environment: { ...SWITCHES, ...plan.environment, ...variables, ...environment, ...store.environment },
    view,
    mounts: [kept.mount],
    overlays: kept.overlays,
    deadlineMs,
  }
}

/**
 * A digest of everything that the result depends on, beside the time of the install where the app has no lockfile. npm checks
 * the files of its store against the lockfile, so its result is shared by all environments of the account; results of other
 * managers are used by one environment only.
 */
async function digestOfInputs(
  { toolchain }: Runner,
  given: Installation,
  { argv, folder, inputs }: Install,
  { variables, lockfile }: { variables: Readonly<Record<string, string>>; lockfile: Lockfile | undefined },
): Promise<string> {
  const { plan, workspace, archive } = given
  const isVerified = (await packageStoreOf(plan.packageManager)).isVerified
  const isShared = inputs !== null && isVerified && lockfile?.isPinned === true
  const hash = createHash('sha256')
  const add = (...values: unknown[]) => hash.update(`${JSON.stringify(values)}\n`)
  add('packages', 1, isShared ? given.accountId : given.environmentId)
  add(process.platform, process.arch, toolchain.node, toolchain.packageManager, argv, folder)
  add(Object.entries(variables).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  if (inputs === null) add(archive)
  else for (const path of inputs) add(path, await digestOf(workspace, path))
  return hash.digest('hex')
}

async function digestOf(workspace: Workspace, path: string): Promise<string> {
  await using file = await openInput(workspace, path)
  const hash = createHash('sha256')
  for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk)
  return hash.digest('hex')
}

/** The inputs are few. Links are not followed: the plan names only files. */
async function copyInputs(workspace: Workspace, inputs: readonly string[]): Promise<string> {
  const folder = await workspace.makeFolder('inputs')
  for (const path of inputs) {
    if (dirname(path) !== '.') await workspace.makeFolder('inputs', ...dirname(path).split('/'))
    await using file = await openInput(workspace, path)
    const { mode } = await file.stat()
    const copy = createWriteStream(join(folder, path), { flags: 'wx', mode: mode & 0o777 })
    await pipeline(file.createReadStream({ autoClose: false }), copy)
  }
  return folder
}

async function openInput({ source }: Workspace, path: string) {
  const found = await openFileIn(source, path)
  if (!found) throw new Problem('PLAN_FAILED', `${path} is not a file, and the packages depend on it.`)
  return found.file
}

const MAX_SETTINGS_BYTES = 256 * 1024
const MAX_SETTINGS = 100

/** Names of variables that the settings files among the inputs refer to, as `${NAME}` or `${NAME:-default}`. */
async function namesInSettings({ workspace }: Installation, { inputs }: Install): Promise<Set<string>> {
  const files = (inputs ?? []).filter((path) => SETTINGS_FILE.test(path)).slice(0, MAX_SETTINGS)
  const found = new Set<string>()
  for (const path of files) {
    const text = (await textIn(workspace.source, path, MAX_SETTINGS_BYTES)) ?? ''
    for (const [, name = ''] of text.matchAll(REFERENCE)) found.add(name)
  }
  return found
}

const SETTINGS_FILE = /(^|\/)(\.npmrc|\.yarnrc|\.yarnrc\.yml|bunfig\.toml|pnpm-workspace\.yaml)$/
const REFERENCE = /\$\{([\w.]{1,256})/g

/**
 * The tenant's variables that package managers and installers read. The others are withheld, so that a malicious install
 * script of a package finds no key of the CMS.
 */
function installerVariables({ variables }: Installation, named: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => INSTALLER_VARIABLE.test(name) || named.has(name)),
  )
}

const INSTALLER_VARIABLE =
  /^(npm_|NPM_|YARN_|PNPM_|BUN_|NODE_(?!ENV$)|npm-)|(_MIRROR|_CDNURL|_BINARY_HOST|_SKIP_(CHROMIUM_|BROWSER_)?DOWNLOAD)$/

function reasonToReuse({ packageManager }: Plan, { inputs }: Install): string {
  const lockfile = packageManager?.lockfile
  if (lockfile) return `${inputs === null ? 'the source' : lockfile} is unchanged,`
  return `${inputs === null ? 'the source' : 'package.json'} is unchanged and there is no lockfile, so the versions of the last good build are used again (a Clean Rebuild looks for newer ones), and`
}
