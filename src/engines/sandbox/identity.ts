/**
 * How a sandbox comes to run as a tenant's user. Bubblewrap itself is started as that user, with nothing of root's left, and
 * makes a user namespace to work in: then no program in the sandbox is ever root, not even the first. Where the machine lets
 * users make no namespaces, bubblewrap is started by root, and its first program is one of the machine's own that gives root
 * up and everything with it. Which of them works is tried and not guessed.
 */
import { readFile } from 'node:fs/promises'
import type { Job } from '../engine.ts'
import { SETPRIV, untilItEnds } from './stage.ts'

export type Identity = {
  /** In words, if it is not the best one. */
  note: string | undefined
  /** Arguments of bubblewrap. */
  args(user: Job['user']): string[]
  /** The command that starts bubblewrap with these arguments, so that it becomes the last ones. */
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
      // What was said about the service's end is forgotten with the user.
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

/** Without root there is one user for all. What sets the stage shows that user as root, and this as itself again. */
export const identityOfService = (isStaged: boolean): Identity => ({
  note: undefined,
  args: () => [
    ...IN_USER_NAMESPACE,
    ...(isStaged ? ['--uid', String(process.getuid?.()), '--gid', String(process.getgid?.())] : []),
  ],
  command: (bubblewrap, program) => [...bubblewrap, ...program],
})

/** The user that owns the machine is no tenant, with whatever taken away. */
function given(user: Job['user']): NonNullable<Job['user']> {
  if (!user) throw new Error('a program in a sandbox needs a user of its own')
  return user
}

const CAP_SETPCAP = 8n

async function hasCapability(number: bigint): Promise<boolean> {
  const held = /^CapEff:\t([0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1] ?? '0'
  return ((BigInt(`0x${held}`) >> number) & 1n) === 1n
}
