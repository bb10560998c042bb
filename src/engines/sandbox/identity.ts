/**
 * How a sandbox comes to run as a tenant's user. Bubblewrap itself is started as that user, without any privilege, and makes a
 * user namespace to work in: then no program in the sandbox is ever root, not even the first. Where users may not make
 * namespaces, bubblewrap is started by root, and its first program is setpriv(1), which drops root and all capabilities. Which
 * of them works is found by a trial.
 */
import { readFile } from 'node:fs/promises'
import type { Job } from '../engine.ts'
import { SETPRIV, untilItEnds } from './stage.ts'

export type Identity = {
  /** For people, if it is not the best one. */
  note: string | undefined
  /** Arguments of bubblewrap. */
  args(user: Job['user']): string[]
  /** The command that starts bubblewrap with these arguments, which then execs the program. */
  command(bubblewrap: readonly string[], program: readonly string[], user: Job['user']): string[]
}

const IN_USER_NAMESPACE = ['--unshare-user', '--disable-userns', '--cap-drop', 'ALL']

const becoming = ({ uid, gid }: NonNullable<Job['user']>): string[] => [
  ...[SETPRIV, '--reuid', String(uid), '--regid', String(gid), '--clear-groups', '--inh-caps=-all'],
]

/** Root chooses the user; the best first. */
export async function identitiesOfRoot(): Promise<Identity[]> {
  const canDropBounds = await hasCapability(CAP_SETPCAP)
  return [
    {
      note: undefined,
      args: () => IN_USER_NAMESPACE,
      // A change of user resets the parent-death signal, so it is set again.
      command: (bubblewrap, program, user) => [
        ...[...becoming(given(user)), '--', ...untilItEnds([...bubblewrap, ...program])],
      ],
    },
    {
      note: 'each started by root, since users can make no namespaces',
      args: () => [
        ...['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID'],
        ...(canDropBounds ? ['--cap-add', 'CAP_SETPCAP'] : []),
      ],
      command: (bubblewrap, program, user) => [
        ...bubblewrap,
        ...becoming(given(user)),
        ...(canDropBounds ? ['--bounding-set=-all'] : []),
        ...['--', ...program],
      ],
    },
  ]
}

/** Without root there is one user for all. The stage's user namespace maps that user to root, and this maps it back. */
export const identityOfService = (isStaged: boolean): Identity => ({
  note: undefined,
  args: () => [
    ...IN_USER_NAMESPACE,
    ...(isStaged ? ['--uid', String(process.getuid?.()), '--gid', String(process.getgid?.())] : []),
  ],
  command: (bubblewrap, program) => [...bubblewrap, ...program],
})

/** Root itself must never run a tenant's program, whatever capabilities were dropped. */
function given(user: Job['user']): NonNullable<Job['user']> {
  if (!user) throw new Error('a program in a sandbox needs a user of its own')
  return user
}

const CAP_SETPCAP = 8n

async function hasCapability(number: bigint): Promise<boolean> {
  const held = /^CapEff:\t([0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1] ?? '0'
  return ((BigInt(`0x${held}`) >> number) & 1n) === 1n
}
