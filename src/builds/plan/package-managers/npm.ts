import type { Manager } from './package-manager.ts'

export const npm: Manager = {
  name: 'npm',
  lockfiles: ['npm-shrinkwrap.json', 'package-lock.json'],
  isMeant: () => true,
  /** Every current npm reads every version of the lockfile. */
  versionFor: () => '*',
  settings: ['.npmrc'],
  settingsFolders: [],
  install: ({ isLocked }) => ['npm', isLocked ? 'ci' : 'install'],
  run: (script, isSilent) => ['npm', 'run', ...(isSilent ? ['--silent'] : []), script],
  environment: () => ({}),
  store: (folder) => ({ npm_config_cache: folder }),
  storeFolder: 'npm',
  tarballFolder: '_cacache/content-v2/sha512',
  isVerified: true,
}
