/**
 * IP forwarding lets packets pass from a job's namespace to the internet and back. The kernel has it per interface, and it is
 * switched on only for those that lead out. A machine that was no router does not become one by that: the rules drop what
 * comes in by such a guarded interface and is not for a job, until the operator or another program makes the machine a router.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { absent } from '../../../base/index.ts'
import { NetworkError } from '../commands.ts'
import { LINK_PREFIX } from '../names.ts'

export type Forwarding = {
  /** The machine forwards all traffic (`ip_forward`), as its operator or another program has set. */
  isRouter: boolean
  /** Interfaces that forward only because the service switched it on. */
  guarded: readonly string[]
}

export type Machine = { isRouter: boolean; isOn: ReadonlyMap<string, boolean> }

/** Where forwarding has to be switched on, and which interfaces are guarded from then on. */
export function decideForwarding(
  { isRouter, isOn }: Machine,
  before: Forwarding,
): Forwarding & { switchOn: readonly string[] } {
  const switchOn = [...isOn].flatMap(([name, isForwarding]) => (isForwarding ? [] : [name]))
  const kept = isRouter && !before.isRouter ? [] : before.guarded.filter((name) => isOn.has(name))
  return { isRouter, guarded: [...new Set([...kept, ...switchOn])].toSorted(), switchOn }
}

/** Interfaces that lead out, and the guarded ones, of which some may be down for a moment. */
export async function lookAtMachine(guarded: readonly string[]): Promise<Machine> {
  const isOn = new Map<string, boolean>()
  for (const name of new Set([...outwardInterfaces(), ...guarded])) {
    const value = await readFile(fileOf(name), 'utf8').catch(absent)
    if (value !== undefined) isOn.set(name, value.trim() === '1')
  }
  return { isRouter: (await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')).trim() === '1', isOn }
}

export async function setForwarding(name: string, isOn: boolean): Promise<void> {
  await writeFile(fileOf(name), isOn ? '1' : '0').catch((error: NodeJS.ErrnoException) => {
    // The interface may be gone.
    if (error.code !== 'ENOENT') throw new NetworkError(`forwarding cannot be switched for ${name}: ${error.message}`)
  })
}

/** Interfaces of this machine that are not the service's own and have an address that is not internal. */
function outwardInterfaces(): string[] {
  const all = Object.entries(networkInterfaces())
  const outward = all.filter(([, addresses]) =>
    addresses?.some(({ family, internal }) => family === 'IPv4' && !internal),
  )
  // A second address may have a name of its own: eth0:1.
  const names = outward.map(([name]) => name.split(':')[0] ?? name)
  return [...new Set(names)].filter((name) => !name.startsWith(LINK_PREFIX))
}

const fileOf = (name: string): string => `/proc/sys/net/ipv4/conf/${name}/forwarding`
