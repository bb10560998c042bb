/**
 * The veth pair between a job's namespace and the machine, as lines for `ip -batch`. Both ends have a permanent neighbour entry
 * for each other, so no ARP is needed, and the machine's ARP settings do not matter.
 */
import { readdirSync } from 'node:fs'
import { formatAddress, parseRange, type Range } from './addresses.ts'
import { run, runIp } from './commands.ts'

export type Link = {
  /** The interface on the machine. The one inside is always called eth0. */
  name: string
  /** Of the inside. */
  address: number
  gateway: number
}

/** For the inside, where the pair is made, so that its inner end never appears on the machine. */
export function insideLines({ name, address, gateway }: Link): string[] {
  const at = formatAddress(gateway)
  return [
    `link add name eth0 address ${inside(address)} type veth peer name ${name} address ${outside(address)} netns ${process.pid}`,
    // Without a link-local address there is no IPv6 except on loopback.
    'link set dev eth0 addrgenmode none',
    'link set dev lo up',
    'link set dev eth0 up',
    `addr add ${formatAddress(address)}/32 dev eth0`,
    `neigh add ${at} lladdr ${outside(address)} dev eth0 nud permanent`,
    `route add ${at}/32 dev eth0`,
    `route add default via ${at} dev eth0`,
  ]
}

/** For the machine. The label is for the operator who looks at `ip link`. */
export function outsideLines({ name, address, gateway }: Link, label: string): string[] {
  const at = formatAddress(address)
  return [
    `link set dev ${name} alias ${label.replaceAll(/[^\w.:@/-]/g, '_').slice(0, 200) || '-'}`,
    `link set dev ${name} addrgenmode none`,
    `link set dev ${name} up`,
    `neigh add ${at} lladdr ${inside(address)} dev ${name} nud permanent`,
    `route add ${at}/32 dev ${name} src ${formatAddress(gateway)}`,
  ]
}

/** Interfaces of this machine whose name has this prefix. */
export const linksLike = (prefix: string): string[] =>
  readdirSync('/proc/sys/net/ipv4/conf').filter((name) => name.startsWith(prefix))

/** Empty for one that is not there. */
export async function labelOf(name: string): Promise<string> {
  const text = await run('ip', ['-json', 'link', 'show', 'dev', name]).catch(() => '[]')
  const [link] = JSON.parse(text) as { ifalias?: string }[]
  return link?.ifalias ?? ''
}

/** An interface that is gone already is no error. */
export async function deleteLink(name: string): Promise<void> {
  if (!linksLike(name).includes(name)) return
  await runIp([`link delete dev ${name}`]).catch((error) => {
    if (linksLike(name).includes(name)) throw error
  })
}

/** The ranges that this machine has routes to, other than default routes, in all routing tables. */
export async function routesInUse(exceptBy: string): Promise<Range[]> {
  const routes: { dst: string; dev?: string }[] = JSON.parse(
    await run('ip', ['-json', '-4', 'route', 'show', 'table', 'all']),
  )
  return routes
    .filter(({ dev }) => dev !== exceptBy)
    .flatMap(({ dst }) => parseRange(dst) ?? [])
    .filter(({ bits }) => bits >= NARROWEST_WORLD_BITS)
}

/** Some VPNs split the default route in halves. */
const NARROWEST_WORLD_BITS = 4

/** Fixed addresses: udev and others replace those that the kernel made up at random. */
const outside = (address: number): string => hardwareAddress('02:01', address)
const inside = (address: number): string => hardwareAddress('02:02', address)

const hardwareAddress = (prefix: string, address: number): string =>
  [prefix, ...[24, 16, 8, 0].map((shift) => ((address >>> shift) & 255).toString(16).padStart(2, '0'))].join(':')
