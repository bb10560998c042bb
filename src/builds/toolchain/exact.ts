/** Which tools an app wants, which ones it gets, and how the registry calls them. */
import semver from 'semver'

export type ManagerName = 'npm' | 'pnpm' | 'yarn' | 'bun'

/** As ranges of semver. `*` for npm is the one of this machine. */
export type Wanted = {
  node: string
  /** What in the app asks for that Node, as `.nvmrc`. */
  nodeSetBy?: string | undefined
  packageManager: { name: ManagerName; version: string } | null
}

/** Versions without any room left. A JSON value that is kept with a build, so that its app runs on what it was built with. */
export type Exact = {
  node: string
  packageManager: { name: ManagerName; version: string } | null
}

/** A package of the registry, in one version. */
export type Tool = { name: 'node' | 'adapter' | ManagerName; package: string; version: string }

/** The package that holds nothing but the binary for this machine, and needs no script to be installed. */
export const nodePackage = (arch: string): string => `node-linux-${arch}`

/** The newest npm that runs on a line of Node, from the `engines` of npm's own packages: the oldest lines last. */
const NPM_FOR_NODE: readonly [node: string, npm: string][] = [
  ['^18.17 || >=20.5', '10'],
  ['^14.17 || ^16.13 || >=18', '9'],
  ['^12.13 || ^14.15 || >=16', '8'],
  ['>=10', '7'],
]

export const npmFor = (node: string): string | undefined =>
  NPM_FOR_NODE.find(([range]) => semver.satisfies(node, range))?.[1]

export function managerPackage(name: ManagerName, version: string, arch: string): string {
  if (name === 'bun') return `@oven/bun-linux-${arch === 'arm64' ? 'aarch64' : arch}`
  // From version 2 on Yarn is published under another name. A few of its first versions are under the old one, too.
  if (name === 'yarn') return isClassicYarn(version) ? 'yarn' : '@yarnpkg/cli-dist'
  return name
}

/** Whoever leaves it open gets version 1: all the later ones say so in package.json. */
export const isClassicYarn = (range: string): boolean => semver.intersects(range, '1')

export const nodeTool = (version: string, arch: string): Tool => ({ name: 'node', package: nodePackage(arch), version })

export const managerTool = (name: ManagerName, version: string, arch: string): Tool => ({
  name,
  package: managerPackage(name, version, arch),
  version,
})

/** For people. */
export const toolTitle = ({ name, version }: Pick<Tool, 'name' | 'version'>): string =>
  `${TITLES[name] ?? name} ${version}`

const TITLES: Partial<Record<Tool['name'], string>> = { node: 'Node', yarn: 'Yarn', bun: 'Bun' }
