/**
 * The files that decide the result of an install. Builds with the same files get the same packages, so that installed packages
 * can be reused; an install that sees nothing else cannot have another result.
 */
import { posix } from 'node:path'
import type { PackageJson } from '../project/package-json.ts'
import { areUnderstood } from './globs.ts'
import { doesSomething, INSTALL_SCRIPTS } from './install-scripts.ts'
import type { Home, Packages } from './package-manager.ts'

export type Inputs = { inputs: string[] | null; because: string[] }

/** The inputs are stored with every build, and shown. */
const MAX_INPUTS = { files: 500, characters: 32 * 1024 }

/** Files that change packages after they were downloaded. */
const PATCH = /(?:^|\/)patches\/|\.(?:patch|diff)$/

export function inputsOf(home: Home, packages: Packages): Inputs {
  const obstacle = obstacleIn(home, packages)
  if (obstacle !== undefined)
    return { inputs: null, because: [`${obstacle}, so packages are installed anew when the source changes`] }
  const { manager } = packages
  const isInput = (path: string): boolean =>
    path === 'package.json' ||
    manager.lockfiles.includes(path) ||
    manager.settings.includes(posix.basename(path)) ||
    manager.settingsFolders.some((folder) => path.startsWith(`${folder}/`)) ||
    PATCH.test(path) ||
    // More than the workspaces: a missing one would be worse.
    (home.globs !== undefined && path.endsWith('/package.json'))
  const found = [...[...home.files].filter(isInput), ...filesNamedIn(home, manager.settings)]
  const inputs = [...new Set(found)].map((path) => posix.join(home.folder, path)).sort()
  if (inputs.length > MAX_INPUTS.files || inputs.join('').length > MAX_INPUTS.characters)
    return {
      inputs: null,
      because: ['too many files decide what is installed, so it is done anew when the source changes'],
    }
  return { inputs, because: [] }
}

function obstacleIn({ files, packageJson, texts, globs, members }: Home, { manager }: Packages): string | undefined {
  if (members === undefined) return 'there are too many workspaces to look into'
  if (globs !== undefined && !areUnderstood(globs)) return 'the globs of the workspaces are not fully understood'
  const own = { folder: '', packageJson }
  for (const { folder, packageJson } of [own, ...members]) {
    const name = posix.join(folder, 'package.json')
    const script = INSTALL_SCRIPTS.find((script) => doesSomething(packageJson?.scripts[script] ?? ''))
    if (script !== undefined) return `the script ${script} of ${name} runs with every install`
    const [local] = packageJson?.localPackages ?? []
    if (local !== undefined) return `${name} takes ${shown(local)} from a folder`
  }
  const withCommands = members.find(({ packageJson }: { packageJson: PackageJson }) => packageJson.hasCommands)
  if (withCommands) return `${withCommands.folder} brings commands`
  if (manager.name !== 'pnpm') return undefined
  const program = ['.pnpmfile.cjs', '.pnpmfile.mjs', 'pnpmfile.js'].find((name) => files.has(name))
  if (program) return `${program} runs with every install`
  const settings = manager.settings.find((name) => PNPM_LOCAL.test(texts[name] ?? ''))
  return settings === undefined ? undefined : `${settings} makes the install depend on other files`
}

/** Packages from folders, copies of workspaces, and programs that change the install. */
const PNPM_LOCAL =
  /pnpmfile|inject-workspace-packages *= *true|injectWorkspacePackages: *true|: *['"]?(?:file|link|portal):/i

const NAME_LENGTH = 100
const shown = (name: string): string => name.slice(0, NAME_LENGTH)

/** Existing files that a setting names: a certificate, a plugin, a release of the manager. */
function filesNamedIn({ files, texts }: Home, settings: readonly string[]): string[] {
  const words = settings.flatMap((name) => (texts[name] ?? '').match(/[^\s"'=,[\]{}]+/g) ?? [])
  return words.map((word) => posix.normalize(word)).filter((path) => files.has(path))
}
