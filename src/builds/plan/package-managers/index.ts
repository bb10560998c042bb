/** Package managers: which one an app uses, how it is called, and where it keeps what it downloads. */
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
  /** What makes the manager use it. */
  environment: Record<string, string>
  /** Whether the manager holds what it takes out of it against the checksums of the lockfile. */
  isVerified: boolean
}

/** Where the folder for stores is seen by whoever installs. */
const STORES = '/cache'

export function storeOf(name: PackageManager['name'], version: string): Store {
  const manager = managerOf(name, version)
  const folder = manager.storeFolder
  return { folder, environment: manager.store(`${STORES}/${folder}`, version), isVerified: manager.isVerified }
}

function managerOf(name: PackageManager['name'], version: string) {
  if (name === 'yarn') return majorOf(version) >= 2 ? yarnBerry : yarnClassic
  return MANAGERS.find((manager) => manager.name === name) ?? npm
}
