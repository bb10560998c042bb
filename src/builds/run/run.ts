/** Executes a plan in the sandbox: install, build, and find the output. Nothing outside of the work folder changes. */
import { join } from 'node:path'
import { type Contact, type Engine, heapWithin, type Limits, type Networks } from '../../engines/index.ts'
import type { Digest, LineLog } from '../../storage/index.ts'
import { placeAdapter } from '../adapters/place.ts'
import { foreignPresets } from '../adapters/presets.ts'
import { hostsAsked } from '../diagnose/hosts.ts'
import { needsPrograms, type Plan } from '../plan/plan.ts'
import type { Toolchain, Toolchains } from '../toolchain/index.ts'
import type { BuildCaches } from './caches.ts'
import { beginContent, type RunContent } from './content.ts'
import { type Installed, install } from './install.ts'
import { findOutput, type OutputFolders } from './output-folder.ts'
import type { PackageStore, Packages } from './packages.ts'
import { type Runner, runStep } from './step.ts'
import type { TarballStore } from './tarballs.ts'
import { SWITCHES } from './tool-variables.ts'
import { isAnythingIn } from './untrusted-folder.ts'
import { WORK, type Workspace } from './workspace.ts'

export type Deadlines = { installMs: number; buildMs: number }

export const DEFAULT_DEADLINES: Deadlines = { installMs: 10 * 60_000, buildMs: 20 * 60_000 }

export type RunParts = {
  engine: Engine
  packages: PackageStore
  tarballs: TarballStore
  deadlines: Deadlines
  limits: Limits
  networks: Pick<Networks, 'open'> | undefined
}

export type Run = {
  plan: Plan
  workspace: Workspace
  caches: BuildCaches
  toolchain: Toolchain
  adapters: Toolchains['adapters']
  archive: Digest
  accountId: string
  environmentId: string
  isClean: boolean
  /** What the tenant has set, by name. */
  variables: Readonly<Record<string, string>>
  /** Variables that the service sets for every build. */
  metadata: Readonly<Record<string, string>>
  log: LineLog
  signal: AbortSignal
  enter(phase: 'INSTALLING' | 'BUILDING'): Promise<void>
  claim(packagesId: string): Promise<boolean>
  admit(packages: Packages): Promise<void>
  /** What records the answers of the CMS. */
  content?: RunContent | undefined
  /** Called at the end of a build, successful or not, where its contacts can be known. */
  contacted(contacts: readonly Contact[]): Promise<void>
}

/** The given plan, with the output that the build turned out to have. */
export type Made = { plan: Plan; output: OutputFolders; installed: Installed }

export async function runPlan(parts: RunParts, run: Run): Promise<Made> {
  const { engine, packages, tarballs, deadlines, limits, networks } = parts
  const { plan, workspace, toolchain, caches, log, signal } = run
  await using network = await openNetwork(networks, run)
  const { name: packageManager = null, lockfile = null } = plan.packageManager ?? {}
  const cmsHosts = hostsAsked(run.variables, run.metadata)
  const around = { engine, toolchain, user: workspace.user, limits, network: network.namespace }
  const runner: Runner = { ...around, log, signal, packageManager, lockfile, cmsHosts }
  const environment = environmentOf(plan, toolchain)
  const deadlineMs = deadlines.buildMs

  let installed: Installed = null
  if (plan.install) {
    await run.enter('INSTALLING')
    installed = await install(
      runner,
      { ...run, packages, tarballs, variables: run.variables, environment, deadlineMs: deadlines.installMs },
      plan.install,
    )
  }
  const isChanged = plan.build !== null || installed !== null
  const below = [...(installed ? [installed.layer] : []), workspace.source]
  const view = isChanged ? await workspace.view('build', below) : workspace.untouched()
  const changes = view.layers[0] as string
  if (plan.build) {
    await run.enter('BUILDING')
    await caches.restore(changes)
    const { adapter } = plan
    const parts = { plan, workspace, view, adapters: run.adapters, isClean: run.isClean, deadlineMs }
    const placed = adapter && (await placeAdapter(runner, parts, adapter))
    const nodeCache = await caches.nodeCache()
    const content = await beginContent(runner, run)
    const signals = AbortSignal.any([signal, ...(content ? [content.signal] : [])])
    await runStep(
      { ...runner, signal: signals },
      {
        phase: 'BUILDING',
        argv: plan.build.argv,
        cwd: join(WORK, plan.rootDirectory),
        environment: {
          ...heapWithin(limits),
          ...nodeCache.environment,
          ...SWITCHES,
          ...plan.environment,
          ...withoutForeignPresets(run),
          ...run.metadata,
          ...adapter?.environment,
          ...environment,
          ...content?.environment,
        },
        view,
        mounts: [nodeCache.mount, ...(content?.mounts ?? [])],
        deadlineMs,
        missing: installed?.missing ?? [],
      },
    ).finally(() => content?.end())
    await placed?.remove()
    await caches.gather(changes)
  }
  const made = await settledPlan(plan, changes, log)
  return { plan: made, output: await findOutput(runner, { plan: made, workspace, view, deadlineMs }), installed }
}

/** A network of its own for a build that runs programs. It is closed with the build, which then knows its contacts. */
async function openNetwork(networks: Pick<Networks, 'open'> | undefined, { plan, contacted, log }: Run) {
  const namespace = needsPrograms(plan) ? await networks?.open('build', { isRecorded: true }) : undefined
  return {
    namespace,
    async [Symbol.asyncDispose]() {
      // A failure here does not change the result of the build.
      await namespace
        ?.contacts()
        .then(contacted)
        .catch(() => log.say('BUILDING', 'The hosts that the build contacted could not be read.'))
      await namespace?.close()
    },
  }
}

function withoutForeignPresets({ plan, variables, log }: Run): Record<string, string> {
  const foreign = foreignPresets(plan, variables)
  for (const name of foreign)
    log.say('BUILDING', `The variable ${name} is not used: it names a preset that builds for another host.`)
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !foreign.includes(name)))
}

/** The plan for files instead of a server, where the build left no server. */
async function settledPlan(plan: Plan, changes: string, log: LineLog): Promise<Plan> {
  const { files } = plan.adapter ?? {}
  if (!files || (await isAnythingIn(changes, join(plan.rootDirectory, files.server)))) return plan
  log.say('BUILDING', 'No page is rendered on request and the build left no server, so its files are served.')
  return { ...plan, output: files.output }
}

/** The folders with the commands of packages: those of the app and of the folder where its packages were installed. */
export function binariesOf({ rootDirectory, install: step }: Plan): string[] {
  const folders = new Set([rootDirectory, step?.folder ?? rootDirectory])
  return [...folders].map((folder) => join(WORK, folder, 'node_modules/.bin'))
}

/** Variables of every step, whatever the tenant has set. */
const environmentOf = (plan: Plan, toolchain: Toolchain): Record<string, string> => ({
  PATH: [...binariesOf(plan), toolchain.path].join(':'),
  HOME: '/tmp',
  TMPDIR: '/tmp',
  ...toolchain.environment,
})
