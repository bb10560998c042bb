/**
 * From an app's files to what is to be done with them. Pure: no clock, no network, no disk. The plan is a JSON value that
 * is kept with the build and shown to people, and `run.ts` does what it says.
 */
import { Problem } from '../../contract/index.ts'
import { FRAMEWORKS } from './frameworks/index.ts'
import { serverIn } from './frameworks/serve.ts'
import { STATIC_FOLDERS } from './frameworks/static.ts'
import { packageManagerOf, planInstall } from './package-managers/index.ts'
import { chooseNode, DEFAULT_NODE } from './project/node-range.ts'
import type { Project } from './project/project.ts'
import { namedStart, startCommand } from './project/scripts.ts'

/** A program and its arguments, run in the root directory unless something else is said. Never a string for a shell. */
export type Command = { argv: string[] }

/** Files that need no server. */
export type StaticOutput = {
  kind: 'static'
  /** Where the build leaves them, relative to the root directory; `.` for the root directory itself. */
  folder: string
  /** Where else to look for an `index.html`, in this order, when `folder` has none; only when no framework says where. */
  candidates: string[]
  /** Whether a path that is no file is answered with `index.html`. */
  singlePage: boolean
  /** The path that the files expect to be served under, as `/docs`; empty for the top of the host. */
  basePath: string
}

/** A program that answers requests on `PORT`. */
export type ServerOutput = {
  kind: 'server'
  /**
   * What must be kept to run it, relative to the root directory. `.` for everything: the whole archive as the build left
   * it, with the installed packages, and started in the root directory.
   */
  folder: string
  /** Before `folder` is kept: folders that belong elsewhere too, relative to the root directory. A missing one is skipped. */
  copies: { from: string; to: string }[]
  /** Run in `folder`. */
  start: Command
  /** Folders in `folder` where the app changes files while it runs. What the build left in them is still needed. */
  writable: string[]
  /** Variables for the running app, beside those that every app gets. */
  environment: Record<string, string>
}

export type PackageManager = {
  name: 'npm' | 'pnpm' | 'yarn' | 'bun'
  /** Which versions will do, as a semver range; `*` for the one that the service has at hand. */
  version: string
  /** Relative to the top of the archive. Without one the versions of packages are chosen anew each time. */
  lockfile: string | null
}

export type Install = Command & {
  /** Where it is run, relative to the top of the archive: above the root directory in a monorepo. Empty for the top. */
  folder: string
  /**
   * The files that decide what is installed, relative to the top of the archive, sorted: manifests, lockfile, settings.
   * Nothing else is there while packages are installed. `null` where that would not do, since the app's own scripts run
   * with it, or a package comes from a folder of the archive.
   */
  inputs: string[] | null
}

/**
 * What is built with in place of an adapter or a preset that makes the app for another host. The app's files say the other
 * one, and stay as they are.
 */
export type Adapter = {
  /** A package, or a preset of Nitro, as the app names it. */
  replaces: string
  /** A package, or a preset of Nitro. */
  by: string
  /** Variables that name it to the framework. Those of the tenant do not override them. */
  environment: Record<string, string>
  /** The installed package that is made to give `by` whenever the app asks for its own; null where variables do. */
  module: {
    package: string
    kind: 'sveltekit' | 'astro' | 'nitro'
    /** The package of the framework, whose installed version decides which version of `by` is fetched; null for none. */
    peer: string | null
  } | null
  /** What is served if the build turns out to need no server and so leaves none at `server`. */
  files: { server: string; output: StaticOutput } | null
}

export type Plan = {
  /** The name of one of `frameworks/`: `nextjs`, `nuxt`, `astro`, …, `node`, `static` or `unknown`. */
  framework: string
  /** The range as it stands in package.json. */
  frameworkVersion: string | null
  /** Why this plan and no other: sentences for people. */
  detectedBy: string[]
  packageManager: PackageManager | null
  /** Which Node is for install, build and start, as a semver range: the newest one in it is taken. */
  node: string
  /** What in the app asks for that Node, as `.nvmrc`; absent where nothing does. */
  nodeSetBy?: string
  rootDirectory: string
  install: Install | null
  build: Command | null
  /** Only for an app that was made for another host. */
  adapter?: Adapter
  output: StaticOutput | ServerOutput
  /** Folders worth keeping between builds, relative to the root directory: what was compiled, and what was fetched. */
  caches: { compile: string[]; data: string[] }
  /** Variables for install and build, beside those that every command gets. */
  environment: Record<string, string>
}

/** Whether a build by this plan runs a program of the app. Without one it takes no longer than its files take to copy. */
export const needsPrograms = ({ install, build }: Pick<Plan, 'install' | 'build'>): boolean =>
  install !== null || build !== null

export function planBuild(project: Project): Plan {
  for (const framework of FRAMEWORKS) {
    const choice = framework.choose(project)
    if (choice === undefined) continue
    const { version = null, build = null, caches, environment, because, adapter } = choice
    const named = choice.output.kind === 'static' ? namedStart(project) : undefined
    const output = named === undefined ? choice.output : serverIn('.', startCommand(project, named))
    const needsNode = build !== null || output.kind === 'server'
    const { install, because: aboutInstall } = needsNode ? planInstall(project) : { install: null, because: [] }
    const node = needsNode ? chooseNode(project) : DEFAULT_NODE
    return {
      framework: framework.name,
      frameworkVersion: version,
      detectedBy: [
        ...because,
        ...(named === undefined ? [] : [`the script ${named} of package.json serves the app`]),
        ...aboutInstall,
        ...node.because,
      ],
      packageManager: packageManagerOf(project),
      node: node.range,
      ...(node.setBy === undefined ? {} : { nodeSetBy: node.setBy }),
      rootDirectory: project.rootDirectory,
      install,
      build,
      ...(adapter ? { adapter } : {}),
      output,
      caches: caches ?? { compile: [], data: [] },
      environment: { ...environment, ...(needsNode ? project.packages.manager.environment(project.home) : {}) },
    }
  }
  throw nothingRecognised(project)
}

/** Says what was looked for, so that the reader sees what to add, or that the app is in another folder. */
function nothingRecognised(project: Project): Problem {
  const { packageJson, rootDirectory } = project
  const where = rootDirectory === '' ? 'at the top of the archive' : `in ${rootDirectory}`
  const missing =
    packageJson === undefined
      ? 'a package.json'
      : 'a script build or start in package.json, a file server.js or one that its main names'
  const folders = STATIC_FOLDERS.filter((folder) => folder !== '.').map((folder) => `${folder}/`)
  const message = `Nothing tells how to build or serve the app. Looked for and not found ${where}: ${missing}; an index.html, there or in ${folders.join(', ')}.`
  return new Problem('PLAN_FAILED', [message, ...hintsOf(project)].join(' '))
}

const MAX_HINTS = 5

/** Where the app may be instead. In a monorepo that is a workspace, which can be built or started. */
function hintsOf({ files, home, rootDirectory }: Project): string[] {
  const isApp = ({ scripts }: { scripts: Readonly<Record<string, string>> }): boolean =>
    scripts.build !== undefined || scripts.start !== undefined
  const members = home.folder === rootDirectory ? (home.members ?? []) : []
  const apps = members.filter(({ packageJson }) => isApp(packageJson)).map(({ folder }) => folder)
  if (apps.length > 0) return [`Its workspaces are ${listOf(apps)}: set rootDirectory to the one that is the app.`]
  const elsewhere = [...files].filter((path) => /^[^/]+(\/[^/]+)?\/(package\.json|index\.html)$/.test(path))
  return elsewhere.length === 0
    ? []
    : [`There is ${listOf(elsewhere)}: if that is the app, set rootDirectory to its folder.`]
}

const listOf = (names: readonly string[]): string =>
  names.slice(0, MAX_HINTS).join(', ') + (names.length > MAX_HINTS ? ', …' : '')
