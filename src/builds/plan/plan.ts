/**
 * The plan of a build: which commands run, and which output they leave. It is a JSON value that is stored with the build and
 * shown to the tenant, and `run/run.ts` executes it.
 */

/** A program and its arguments, run in the root directory unless noted otherwise. Never a string for a shell. */
export type Command = { argv: string[] }

/** Files that need no server. */
export type StaticOutput = {
  kind: 'static'
  /** Where the build leaves them, relative to the root directory; `.` for the root directory itself. */
  folder: string
  /** Other folders to look for an `index.html` in, in this order, when `folder` has none; only where no framework sets the folder. */
  candidates: string[]
  /** Whether a request for a path that is no file gets `index.html`. */
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
  /** Folders to copy before `folder` is kept, relative to the root directory. A missing one is skipped. */
  copies: { from: string; to: string }[]
  /** Run in `folder`. */
  start: Command
  /** Folders in `folder` where the app changes files while it runs. It also reads what the build left in them. */
  writable: string[]
  /** Variables for the running app, in addition to those that every app gets. */
  environment: Record<string, string>
  /**
   * Folders in `folder` with the files that the server answers with as they are, and the address of each folder without a
   * base path. Absent where the framework does not say.
   */
  assets?: { folder: string; address: string }[]
}

export type PackageManager = {
  name: 'npm' | 'pnpm' | 'yarn' | 'bun'
  /** The accepted versions as a semver range; `*` for the version that the service has installed. */
  version: string
  /** Relative to the top of the archive. Without a lockfile every install chooses the versions of packages again. */
  lockfile: string | null
}

export type Install = Command & {
  /** Where it is run, relative to the top of the archive: above the root directory in a monorepo. Empty for the top. */
  folder: string
  /**
   * The files that decide what is installed, relative to the top of the archive, sorted: manifests, lockfile, settings. The
   * install sees only these. `null` where it needs all files, because scripts of the app run with it or a package comes from a
   * folder of the archive.
   */
  inputs: string[] | null
}

/**
 * The adapter or preset that replaces one for another host. The files of the app, which name the other one, stay unchanged.
 */
export type Adapter = {
  /** A package, or a preset of Nitro, as the app names it. */
  replaces: string
  /** A package, or a preset of Nitro. */
  by: string
  /** Variables that name it to the framework. Variables of the tenant do not override them. */
  environment: Record<string, string>
  /** The installed package whose files are replaced so that it exports `by`; null where variables are enough. */
  module: {
    package: string
    kind: 'sveltekit' | 'astro' | 'nitro'
    /** The framework's package, whose installed version decides which version of `by` is fetched; null where none is fetched. */
    peer: string | null
  } | null
  /** The output if the build needs no server and leaves none at `server`. */
  files: { server: string; output: StaticOutput } | null
}

export type Plan = {
  /** The name of one of `frameworks/`: `nextjs`, `nuxt`, `astro`, …, `node`, `static` or `unknown`. */
  framework: string
  /** The range as written in package.json. */
  frameworkVersion: string | null
  /** Why this plan was chosen: sentences for the tenant. */
  detectedBy: string[]
  packageManager: PackageManager | null
  /** The version of Node for install, build and start, as a semver range: the newest version in it is used. */
  node: string
  /** What in the app sets the version of Node, such as `.nvmrc`; absent where nothing does. */
  nodeSetBy?: string
  rootDirectory: string
  install: Install | null
  build: Command | null
  /** Only for an app that is configured for another host. */
  adapter?: Adapter
  output: StaticOutput | ServerOutput
  /** Folders with caches, relative to the root directory: of compilers, and of fetched data. */
  caches: { compile: string[]; data: string[] }
  /** Variables for install and build, in addition to those that every command gets. */
  environment: Record<string, string>
}

/** Whether a build by this plan runs programs of the app. Without them a build only copies files. */
export const needsPrograms = ({ install, build }: Pick<Plan, 'install' | 'build'>): boolean =>
  install !== null || build !== null
