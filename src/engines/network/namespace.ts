/** The network namespace of one job: made before the job starts, removed after it has ended. */
import type { JobNetwork, Mount } from '../engine.ts'
import { formatAddress } from './addresses.ts'
import { createNetns, type Netns, run, runIp } from './commands.ts'
import { type Connection, type Contact, createNames, toContacts } from './contacts.ts'
import { DIRECT_SUFFIX, type Forwarder } from './dns/forwarder.ts'
import { setForwarding } from './firewall/forwarding.ts'
import { refusalsNow } from './firewall/refusals.ts'
import { recordingRules } from './firewall/rules.ts'
import type { GatewayLink } from './gateway-link.ts'
import { deleteLink, insideLines, type Link, outsideLines } from './links.ts'
import { loopbackCommand, loopbackRules } from './loopback.ts'
import type { Policy } from './settings.ts'
import { loopbackPorts, type SiteAccess } from './sites.ts'

export type NetworkNamespace = JobNetwork & {
  /** The address at which the service reaches servers in the namespace. No other program reaches them. */
  address: string
  /** The address that a server in it has to listen on. */
  listen: string
  /** The servers that its jobs have contacted so far; empty, unless they are recorded. */
  contacts(): Promise<Contact[]>
  /**
   * From now on these names lead its jobs to the returned address, which is inside of it: a job there answers for them, at any
   * port. It gets the real address of a name by adding the suffix to it.
   */
  redirect(names: readonly string[]): Promise<{ address: string; suffix: string }>
  /** Removes its link: processes that are still in it have no network any more. */
  close(): Promise<void>
}

export type NamespaceParts = {
  gatewayLink: GatewayLink
  forwarder: Forwarder
  policy: Policy
  sites: SiteAccess
  mounts: readonly Mount[]
}

export async function openNetworkNamespace(
  { gatewayLink, forwarder, policy, sites, mounts }: NamespaceParts,
  link: Link,
  { label, isRecorded, port }: { label: string; isRecorded: boolean; port?: number | undefined },
): Promise<NetworkNamespace> {
  const { block, gateway } = gatewayLink
  const address = formatAddress(link.address)
  const names = isRecorded ? createNames() : undefined
  const sitePorts = loopbackPorts(sites)
  const loopback = { gateway, address: link.address, port, sitePorts }
  const netns = await createNetns(insideLines(link))
  try {
    await Promise.all([
      runIp(outsideLines(link, label)),
      setForwarding(link.name, true),
      isRecorded ? runIn(netns, ['nft', '-f', '-'], recordingRules(gateway)) : undefined,
      port === undefined && sitePorts.length === 0
        ? undefined
        : runIn(netns, loopbackCommand(), loopbackRules(loopback)),
    ])
  } catch (error) {
    await remove(link, netns)
    throw error
  }
  forwarder.admit(address, names)

  return {
    around: netns.enter,
    mounts,
    address,
    listen: '0.0.0.0',
    async contacts() {
      return names ? toContacts(await connectionsIn(netns), names, refusalsNow({ policy, block, sites })) : []
    },
    async redirect(redirected) {
      await runIn(netns, ['/bin/sh', '-c', ADD_REDIRECT, 'sh', REDIRECT_ADDRESS])
      forwarder.redirect(address, { names: new Set(redirected), address: REDIRECT_ADDRESS })
      return { address: REDIRECT_ADDRESS, suffix: DIRECT_SUFFIX }
    },
    async close() {
      forwarder.dismiss(address)
      await remove(link, netns)
    },
  }
}

/** Of a range for tests of networks (RFC 2544), so that no server has it. Not of 127.0.0.0/8, which some clients refuse to call. */
const REDIRECT_ADDRESS = '198.18.255.1'

/** A job without privileges may listen on ports 80 and 443 of its own namespace. */
const ADD_REDIRECT = 'ip addr add "$1/32" dev lo && printf 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start'

/** The kernel removes the namespace with its last process; the veth pair is removed now. */
async function remove({ name }: Link, netns: Netns) {
  try {
    await deleteLink(name)
  } finally {
    netns.close()
  }
}

function runIn(netns: Netns, command: readonly string[], input = ''): Promise<string> {
  const [file = '', ...args] = netns.enter(command)
  return run(file, args, input)
}

type Element = { concat: [address: string, protocol: 'tcp' | 'udp', port: number] }

/** All sets are read at once, so that they are of one moment. */
async function connectionsIn(netns: Netns): Promise<Connection[]> {
  const text = await runIn(netns, ['nft', '-j', 'list', 'table', 'inet', 'headland'])
  const { nftables } = JSON.parse(text) as { nftables: { set?: { name: string; elem?: Element[] } }[] }
  const elementsOf = (name: string) => nftables.flatMap(({ set }) => (set?.name === name ? (set.elem ?? []) : []))
  const keysOf = (name: string) => new Set(elementsOf(name).map(({ concat }) => concat.join(' ')))
  const [answered, reset] = [keysOf('answered'), keysOf('reset_by')]
  return elementsOf('contacts').map(({ concat }) => {
    const [address, protocol, port] = concat
    const key = concat.join(' ')
    const answer = answered.has(key) ? 'ACCEPTED' : reset.has(key) ? 'RESET' : 'NONE'
    return { address, protocol, port, answer }
  })
}
