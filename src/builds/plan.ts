/**
 * From an app's files to what is to be done with them. Pure: no clock, no network, no disk. The plan is a JSON value that
 * is kept with the build and shown to people, and `run.ts` does what it says.
 */
import { Problem } from '../contract/index.ts'
import { FRAMEWORKS } from './frameworks/index.ts'
import { STATIC_FOLDERS } from './frameworks/static.ts'
import type { Project } from './project.ts'
import { namedStart, startCommand } from './scripts.ts'

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
  /** What must be kept to run it, relative to the root directory; `.` for all of it. */
  folder: string
  /** Before `folder` is kept: folders that belong elsewhere too, relative to the root directory. A missing one is skipped. */
  copies: { from: string; to: string }[]
  /** Run in `folder`. */
  start: Command
  /** Folders in `folder` where the app changes files while it runs. What the build left in them is still needed. */
  writable: string[]
}

export type Plan = {
  /** `nextjs`, `vite`, `node`, `static` or `unknown`. */
  framework: string
  /** The range as it stands in package.json. */
  frameworkVersion: string | null
  /** Why this plan and no other: sentences for people. */
  detectedBy: string[]
  packageManager: { name: 'npm'; lockfile: string | null } | null
  /** Major version of Node for install, build and start. */
  node: string
  rootDirectory: string
  install: Command | null
  build: Command | null
  output: StaticOutput | ServerOutput
  /** Folders worth keeping between builds, relative to the root directory: what was compiled, and what was fetched. */
  caches: { compile: string[]; data: string[] }
  /** Variables for install and build, beside those that every command gets. */
  environment: Record<string, string>
}

const DEFAULT_NODE = '24'
const LOCKFILES = ['npm-shrinkwrap.json', 'package-lock.json']
const FOREIGN_LOCKFILES = ['pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb']
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare']

export function planBuild(project: Project): Plan {
  for (const framework of FRAMEWORKS) {
    const choice = framework.choose(project)
    if (choice === undefined) continue
    const { version = null, build = null, caches, environment, because } = choice
    const named = choice.output.kind === 'static' ? namedStart(project) : undefined
    const output = named === undefined ? choice.output : serveBy(project, named)
    const needsNode = build !== null || output.kind === 'server'
    const install = needsNode ? installCommand(project) : null
    return {
      framework: framework.name,
      frameworkVersion: version,
      detectedBy: [
        ...because,
        ...(named === undefined ? [] : [`the script ${named} of package.json serves the app`]),
        ...(install === null ? [] : aboutLockfiles(project)),
      ],
      packageManager: project.packageJson === undefined ? null : { name: 'npm', lockfile: lockfileOf(project) },
      node: DEFAULT_NODE,
      rootDirectory: project.rootDirectory,
      install,
      build,
      output,
      caches: caches ?? { compile: [], data: [] },
      environment: environment ?? {},
    }
  }
  throw nothingRecognised(project)
}

const serveBy = (project: Project, script: string): ServerOutput => ({
  kind: 'server',
  folder: '.',
  copies: [],
  start: startCommand(project, script),
  writable: [],
})

function installCommand(project: Project): Command | null {
  const { packageJson } = project
  if (packageJson === undefined) return null
  const brings =
    Object.keys(packageJson.dependencies).length > 0 ||
    packageJson.hasWorkspaces ||
    INSTALL_SCRIPTS.some((name) => packageJson.scripts[name] !== undefined)
  if (!brings) return null
  return { argv: ['npm', lockfileOf(project) === null ? 'install' : 'ci'] }
}

const lockfileOf = (project: Project): string | null => LOCKFILES.find((name) => project.files.has(name)) ?? null

function aboutLockfiles(project: Project): string[] {
  const own = lockfileOf(project)
  if (own !== null) return [`${own} says which versions to install`]
  const foreign = FOREIGN_LOCKFILES.find((name) => project.files.has(name))
  if (foreign === undefined) return ['there is no package-lock.json, so npm chooses the versions']
  return [`${foreign} is of another package manager than npm and is not read, so npm chooses the versions`]
}

/** Says what was looked for, so that the reader sees what to add, or that the app is in another folder. */
function nothingRecognised({ files, packageJson, rootDirectory }: Project): Problem {
  const where = rootDirectory === '' ? 'at the top of the archive' : `in ${rootDirectory}`
  const missing =
    packageJson === undefined
      ? 'a package.json'
      : 'a script build or start in package.json, a file server.js or one that its main names'
  const folders = STATIC_FOLDERS.filter((folder) => folder !== '.').map((folder) => `${folder}/`)
  const message = `Nothing tells how to build or serve the app. Looked for and not found ${where}: ${missing}; an index.html, there or in ${folders.join(', ')}.`
  const elsewhere = [...files].filter((path) => /^[^/]+(\/[^/]+)?\/(package\.json|index\.html)$/.test(path))
  if (elsewhere.length === 0) return new Problem('PLAN_FAILED', message)
  const hint = `There is ${elsewhere.slice(0, 3).join(', ')}: if that is the app, set rootDirectory to its folder.`
  return new Problem('PLAN_FAILED', `${message} ${hint}`)
}
