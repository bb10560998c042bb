import type { Manager } from './package-manager.ts'

export const bun: Manager = {
  name: 'bun',
  lockfiles: ['bun.lock', 'bun.lockb'],
  isMeant: () => true,
  versionFor: () => '1',
  settings: ['bunfig.toml', '.npmrc'],
  settingsFolders: [],
  install: ({ isLocked }) => ['bun', 'install', ...(isLocked ? ['--frozen-lockfile'] : [])],
  run: (script, isSilent) => ['bun', 'run', ...(isSilent ? ['--silent'] : []), script],
  environment: () => ({}),
  store: (folder) => ({ BUN_INSTALL_CACHE_DIR: folder }),
  storeFolder: 'bun',
  isVerified: false,
}
