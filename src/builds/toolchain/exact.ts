/** The tools that an app wants, the exact versions that it gets, and their packages in the registry. */
import semver from 'semver'

export type ManagerName = 'npm' | 'pnpm' | 'yarn' | 'bun'

/** Semver ranges. `*` for npm is the npm of this machine. */
export type Wanted = {
  node: string
  /** What in the app sets the version of Node, such as `.nvmrc`. */
  nodeSetBy?: string | undefined
  packageManager: { name: ManagerName; version: string } | null
}

/** Exact versions. A JSON value that is stored with a build, so that its app runs on the versions that it was built with. */
export type Exact = {
  node: string
  packageManager: { name: ManagerName; version: string } | null
}

/** A package of the registry, in one version. */
export type Tool = { name: 'node' | 'adapter' | ManagerName; package: string; version: string }

/** The package with only the binary for this machine, which needs no install script. */
export const nodePackage = (arch: string): string => `node-linux-${arch}`

/** The newest npm for each line of Node, from the `engines` of npm's own packages: the oldest lines last. */
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

/** An open range means version 1, since later versions are named in package.json. */
export const isClassicYarn = (range: string): boolean => semver.intersects(range, '1')

export const nodeTool = (version: string, arch: string): Tool => ({ name: 'node', package: nodePackage(arch), version })

export const managerTool = (name: ManagerName, version: string, arch: string): Tool => ({
  name,
  package: managerPackage(name, version, arch),
  version,
})

/** The name for messages. */
export const toolTitle = ({ name, version }: Pick<Tool, 'name' | 'version'>): string =>
  `${TITLES[name] ?? name} ${version}`

const TITLES: Partial<Record<Tool['name'], string>> = { node: 'Node', yarn: 'Yarn', bun: 'Bun' }
