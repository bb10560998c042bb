/** Package managers: which one an app uses, how it is run, and where its store is. */
import type { PackageManager } from '../plan.ts'
import { MANAGERS } from './managers.ts'
import { npm } from './npm.ts'
import { majorOf } from './package-manager.ts'
import { yarnBerry } from './yarn-berry.ts'
import { yarnClassic } from './yarn-classic.ts'

export { choosePackages } from './choose.ts'
export { readHome } from './home.ts'
export { packageManagerOf, planInstall } from './install.ts'

export type Store = {
  /** Its name in the folder for stores. */
  folder: string
  /** Variables that make the manager use it. */
  environment: Record<string, string>
  /** Whether the manager checks files of the store against the checksums of the lockfile. */
  isVerified: boolean
  /** Within the folder for stores: each tarball under its SHA-512. Undefined where they cannot be shared. */
  tarballs: string | undefined
  /** The names of the manager's lockfiles. */
  lockfiles: readonly string[]
}

/** Where the folder for stores is mounted during an install. */
const STORES = '/cache'

export function storeOf(name: PackageManager['name'], version: string): Store {
  const { storeFolder: folder, tarballFolder, store, isVerified, lockfiles } = managerOf(name, version)
  const tarballs = tarballFolder && `${folder}/${tarballFolder}`
  return { folder, tarballs, environment: store(`${STORES}/${folder}`, version), isVerified, lockfiles }
}

function managerOf(name: PackageManager['name'], version: string) {
  if (name === 'yarn') return majorOf(version) >= 2 ? yarnBerry : yarnClassic
  return MANAGERS.find((manager) => manager.name === name) ?? npm
}
