/**
 * The arguments of bubblewrap, decided without doing anything. The program sees a read-only system, its mounts, a /tmp of
 * its own, its own processes, and no file of the service. Secrets are not in here: arguments can be read by everybody on the
 * machine, so argv and environment of the program travel through a pipe (see launch.mjs).
 */
import type { Job } from './engine.ts'

export type System = {
  /** Folders and links of the root of this machine that programs need: `/usr`, `/lib`, … */
  folders: readonly string[]
  links: readonly { path: string; target: string }[]
  /** Files of /etc that name resolution and TLS need. */
  etc: readonly string[]
  isRoot: boolean
  /** Arguments that take writing and telling places of /proc away; right after it, and in this order. */
  masks: readonly string[]
  /** Whether a filter of system calls comes through descriptor 4. */
  isFiltered: boolean
  /** The service's own user, if that is not root. */
  user: Job['user']
}

/** Where the launcher finds what it needs, inside. */
export const INSIDE = { node: '/headland/node', launcher: '/headland/launch.mjs' } as const

export function sandboxArguments(
  { mounts, cwd, overlays }: Pick<Job, 'mounts' | 'cwd' | 'overlays'>,
  system: System,
  launcher: { node: string; script: string },
): string[] {
  return [
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    // Without root, only a user namespace makes the others possible. With root none is needed, and the launcher changes
    // the user; it keeps just the two capabilities for that, and loses them by it.
    ...(system.isRoot
      ? ['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID']
      : ['--unshare-user', '--disable-userns', '--cap-drop', 'ALL']),
    // What makes overlays shows the service's user as root, and this shows it as itself again.
    ...(overlays?.length && system.user ? ['--uid', String(system.user.uid), '--gid', String(system.user.gid)] : []),
    '--hostname',
    'headland',
    '--die-with-parent',
    '--new-session',
    '--clearenv',
    ...system.folders.flatMap((folder) => ['--ro-bind', folder, folder]),
    ...system.links.flatMap(({ path, target }) => ['--symlink', target, path]),
    ...['--perms', '0755', '--dir', '/etc'],
    ...system.etc.flatMap((file) => ['--ro-bind', file, file]),
    ...['--proc', '/proc', ...system.masks, '--dev', '/dev'],
    ...(system.isFiltered ? ['--seccomp', '4'] : []),
    ...['--perms', '1777', '--tmpfs', '/tmp', '--perms', '1777', '--tmpfs', '/dev/shm'],
    ...['--perms', '0755', '--dir', '/headland'],
    ...['--ro-bind', launcher.node, INSIDE.node, '--ro-bind', launcher.script, INSIDE.launcher],
    ...mounts.flatMap(({ from, to, isWritable }) => [
      ...parents(to).flatMap((folder) => ['--perms', '0755', '--dir', folder]),
      isWritable ? '--bind' : '--ro-bind',
      from,
      to,
    ]),
    '--chdir',
    cwd,
    INSIDE.node,
    '--no-warnings',
    INSIDE.launcher,
  ]
}

/** Folders above a mount point are made readable: bubblewrap would make them for root alone. */
function parents(path: string): string[] {
  const steps = path.split('/').slice(1, -1)
  return steps.map((_, index) => `/${steps.slice(0, index + 1).join('/')}`)
}
