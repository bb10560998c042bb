import { type Manager, majorOf } from './package-manager.ts'

/** Each version writes the newest format that it knows, and refuses or ignores others. */
const BY_LOCKFILE: readonly [form: RegExp, version: string][] = [
  [/^lockfileVersion: ['"]?5\./m, '7'],
  [/^lockfileVersion: ['"]?6\./m, '8'],
]
const LATEST = '10'

export const pnpm: Manager = {
  name: 'pnpm',
  lockfiles: ['pnpm-lock.yaml'],
  isMeant: () => true,
  versionFor: (lockfile = '') => BY_LOCKFILE.find(([form]) => form.test(lockfile))?.[1] ?? LATEST,
  settings: ['.npmrc', 'pnpm-workspace.yaml'],
  settingsFolders: [],
  install: ({ isLocked, isBelowWorkspaces }) => [
    'pnpm',
    'install',
    // With CI set, pnpm would not install without a lockfile.
    isLocked ? '--frozen-lockfile' : '--no-frozen-lockfile',
    ...(isBelowWorkspaces ? ['--ignore-workspace'] : []),
  ],
  run: (script, isSilent) => ['pnpm', 'run', ...(isSilent ? ['--silent'] : []), script],
  environment: () => ({}),
  store: (folder, version) => ({
    // Since version 11 pnpm has its own settings and does not read those of npm.
    [majorOf(version) >= 11 ? 'pnpm_config_store_dir' : 'npm_config_store_dir']: folder,
  }),
  storeFolder: 'pnpm',
  isVerified: false,
}
