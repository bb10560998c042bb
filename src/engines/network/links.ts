/**
 * A cable between a view and the machine, as lines for `ip -batch`. Both ends know each other's hardware address from the
 * start: nobody has to ask, and no setting of the machine for such questions matters.
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

/** For the inside, where the link is made: there is no moment in which it is half in the wrong place. */
export function insideLines({ name, address, gateway }: Link): string[] {
  const at = formatAddress(gateway)
  return [
    `link add name eth0 address ${inside(address)} type veth peer name ${name} address ${outside(address)} netns ${process.pid}`,
    // Without an address that it gives itself, there is no IPv6 but the loopback's.
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

/** Interfaces of this machine whose name begins so. */
export const linksLike = (prefix: string): string[] =>
  readdirSync('/proc/sys/net/ipv4/conf').filter((name) => name.startsWith(prefix))

/** Empty for one that is not there. */
export async function labelOf(name: string): Promise<string> {
  const text = await run('ip', ['-json', 'link', 'show', 'dev', name]).catch(() => '[]')
  const [link] = JSON.parse(text) as { ifalias?: string }[]
  return link?.ifalias ?? ''
}

/** One that is gone already is as good. */
export async function deleteLink(name: string): Promise<void> {
  if (!linksLike(name).includes(name)) return
  await runIp([`link delete dev ${name}`]).catch((error) => {
    if (linksLike(name).includes(name)) throw error
  })
}

/** Where this machine sends packets other than to the wide world, whatever the table. */
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

/** Given and not made up, so that nothing on the machine finds it random and sets another. */
const outside = (address: number): string => hardwareAddress('02:01', address)
const inside = (address: number): string => hardwareAddress('02:02', address)

const hardwareAddress = (prefix: string, address: number): string =>
  [prefix, ...[24, 16, 8, 0].map((shift) => ((address >>> shift) & 255).toString(16).padStart(2, '0'))].join(':')
