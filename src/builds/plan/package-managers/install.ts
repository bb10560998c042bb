/** Plans how an app's packages are installed, and which files the result depends on. */
import { posix } from 'node:path'
import type { Install, PackageManager } from '../plan.ts'
import type { Project } from '../project/project.ts'
import { inputsOf } from './inputs.ts'
import { doesSomething, INSTALL_SCRIPTS } from './install-scripts.ts'

export type InstallPlan = { install: Install | null; because: string[] }

export function planInstall(project: Project): InstallPlan {
  const { home, packages } = project
  if (project.packageJson === undefined || !bringsSomething(project)) return { install: null, because: [] }
  const { manager, isLocked } = packages
  const { inputs, because } = inputsOf(home, packages)
  const argv = manager.install({ isLocked, isBelowWorkspaces: home.isBelowWorkspaces })
  return {
    install: { argv, folder: home.folder, inputs },
    because: [...home.because, ...packages.because, aboutLockfile(project), ...because],
  }
}

export function packageManagerOf({ home, packages, packageJson }: Project): PackageManager | null {
  if (packageJson === undefined) return null
  const { manager, version, lockfile } = packages
  return { name: manager.name, version, lockfile: lockfile === null ? null : posix.join(home.folder, lockfile) }
}

/** Without packages and without scripts there is nothing to do. */
function bringsSomething({ home, packageJson }: Project): boolean {
  const manifests = [packageJson, home.packageJson, ...(home.members ?? []).map((member) => member.packageJson)]
  return manifests.some(
    (manifest) =>
      manifest !== undefined &&
      (Object.keys(manifest.dependencies).length > 0 ||
        INSTALL_SCRIPTS.some((name) => doesSomething(manifest.scripts[name] ?? ''))),
  )
}

function aboutLockfile({ packages: { manager, version, lockfile, isLocked } }: Project): string {
  if (lockfile === null) return `there is no ${manager.lockfiles.at(-1)}, so ${manager.name} chooses the versions`
  const which = manager.name === 'npm' || !isLocked ? '' : `, read by ${manager.name} ${version}`
  return `${lockfile} says which versions to install${which}`
}
