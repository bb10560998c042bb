/** The network namespace of one job: made before the job starts, removed after it has ended. */
import type { JobNetwork, Mount } from '../engine.ts'
import { formatAddress } from './addresses.ts'
import { createNetns, type Netns, run, runIp } from './commands.ts'
import { type Connection, type Contact, createNames, toContacts } from './contacts.ts'
import type { Forwarder } from './dns/forwarder.ts'
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
    async close() {
      forwarder.dismiss(address)
      await remove(link, netns)
    },
  }
}

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
