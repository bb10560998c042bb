/**
 * The plan of a build: which commands run, and which output they leave. It is a JSON value that is stored with the build and
 * shown to the tenant, and `run/run.ts` executes it.
 */

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
