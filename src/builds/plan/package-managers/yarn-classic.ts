/** Yarn 1. */
import type { Manager } from './package-manager.ts'
import { isBerry } from './yarn-berry.ts'

export const yarnClassic: Manager = {
  name: 'yarn',
  lockfiles: ['yarn.lock'],
  isMeant: (hint) => !isBerry(hint),
  versionFor: () => '1',
  settings: ['.yarnrc', '.npmrc'],
  settingsFolders: ['.yarn/releases'],
  install: ({ isLocked }) => ['yarn', 'install', ...(isLocked ? ['--frozen-lockfile'] : []), '--non-interactive'],
  run: (script, isSilent) => ['yarn', 'run', ...(isSilent ? ['--silent'] : []), script],
  environment: () => ({}),
  store: (folder) => ({ YARN_CACHE_FOLDER: folder }),
  storeFolder: 'yarn',
  isVerified: false,
}
