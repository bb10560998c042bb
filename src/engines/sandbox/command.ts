/**
 * The arguments of bubblewrap, as a pure function. The program sees a read-only system, its mounts, a /tmp of its own, its own
 * processes, and no file of the service. The arguments hold no secret: every process on the machine and inside can read them,
 * so argv and environment of the program are passed through a pipe (see launch.mjs).
 *
 * Every mount point is chosen by the service, and none lies in another: bubblewrap reaches them through folders that it has
 * made itself, never through a folder of a tenant. The service's own mounts come last all the same.
 */
import type { Mount } from '../engine.ts'
import { checkAbsolute, checkApart } from '../paths.ts'

export type System = {
  /** Folders and links of the root of this machine that programs need: `/usr`, `/lib`, … */
  folders: readonly string[]
  links: readonly { path: string; target: string }[]
  /** Files and folders of /etc that name resolution and TLS need. */
  etc: readonly string[]
  /** Arguments that hide parts of /proc and make it read-only; right after --proc, and in this order. */
  masks: readonly string[]
  /** Whether a filter of system calls comes through descriptor 4. */
  isFiltered: boolean
}

/** Where the launcher finds what it needs, inside. */
export const INSIDE = { node: '/headland/node', launcher: '/headland/launch.mjs' } as const

export const LAUNCH = [INSIDE.node, '--no-warnings', INSIDE.launcher] as const

type Given = {
  mounts: readonly Mount[]
  /** Node and the launcher. */
  ours: readonly Mount[]
  /** What bubblewrap has to do about users and capabilities. */
  identity: readonly string[]
  isOffline?: boolean
}

export function sandboxArguments({ mounts, ours, identity, isOffline }: Given, system: System): string[] {
  const taken = new Set(mounts.map(({ to }) => checkAbsolute(to, 'the place of a mount')))
  const etc = system.etc.filter((path) => !taken.has(path))
  checkApart([
    ...[...mounts, ...ours].map(({ to }) => to),
    ...[...system.folders, ...system.links.map(({ path }) => path), ...etc],
    ...['/proc', '/dev', '/tmp'],
  ])
  return [
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(isOffline ? ['--unshare-net'] : []),
    ...identity,
    '--hostname',
    'headland',
    '--die-with-parent',
    '--new-session',
    '--clearenv',
    ...mounts.flatMap(bind),
    ...system.folders.flatMap((folder) => ['--ro-bind', folder, folder]),
    ...system.links.flatMap(({ path, target }) => ['--symlink', target, path]),
    ...['--perms', '0755', '--dir', '/etc'],
    ...etc.flatMap((path) => bind({ from: path, to: path, isWritable: false })),
    ...['--proc', '/proc', ...system.masks, '--dev', '/dev'],
    ...(system.isFiltered ? ['--seccomp', '4'] : []),
    ...['--perms', '1777', '--tmpfs', '/tmp', '--perms', '1777', '--tmpfs', '/dev/shm'],
    ...ours.flatMap(bind),
    // The folders between the mounts belong to the user that bubblewrap runs as, so they are made read-only.
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ...['--chdir', '/'],
  ]
}

/** Folders above a mount point are made readable: bubblewrap would make them for root alone. */
const bind = ({ from, to, isWritable }: Mount): string[] => [
  ...parents(to).flatMap((folder) => ['--perms', '0755', '--dir', folder]),
  isWritable ? '--bind' : '--ro-bind',
  from,
  to,
]

function parents(path: string): string[] {
  const steps = path.split('/').slice(1, -1)
  return steps.map((_, index) => `/${steps.slice(0, index + 1).join('/')}`)
}
