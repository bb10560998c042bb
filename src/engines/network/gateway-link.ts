/**
 * The gateway link is a veth pair whose far end is in an otherwise empty namespace. Its end on the machine has the address that
 * all namespaces use as their gateway, and the route to all of the service's addresses, by which other services see that they
 * are taken. The kernel removes it when the service ends, so it shows that the service is alive.
 */
import { chooseBlock, formatAddress, formatRange, overlaps, parseAddress, type Range, sizeOf } from './addresses.ts'
import { createNetns, type Netns, NetworkError, runIp } from './commands.ts'
import type { Resolver } from './dns/resolvers.ts'
import { setForwarding } from './firewall/forwarding.ts'
import { deleteLink, insideLines, outsideLines, routesInUse } from './links.ts'
import { interfacesOf } from './names.ts'
import type { Policy } from './settings.ts'
import { labelOfService } from './sweep.ts'

export type GatewayLink = {
  block: Range
  gateway: number
  /** The address at its far end. */
  far: number
  close(): Promise<void>
}

const TRIES = 5

export async function openGatewayLink(
  id: string,
  { range, allowed }: Policy,
  resolvers: readonly Resolver[],
): Promise<GatewayLink> {
  const { gatewayLink: name } = interfacesOf(id)
  const wanted = [...allowed.map((exception) => exception.range), ...resolvers.flatMap(asRange)]
  for (let tries = 0; tries < TRIES; tries++) {
    const block = chooseBlock(range, [...(await routesInUse(name)), ...wanted], Number.parseInt(id, 16))
    if (!block) break
    // Another service may have chosen the same block at the same time: then both choose again.
    const isTaken = async () => (await routesInUse(name)).some((other) => overlaps(block, other))
    const gatewayLink = await makeGatewayLink(name, block).catch(async (error) => {
      // The kernel has refused a route that the other one has.
      if (!(await isTaken())) throw error
    })
    if (!gatewayLink) continue
    if (!(await isTaken())) return gatewayLink
    await gatewayLink.close()
  }
  throw new NetworkError(
    `no part of ${formatRange(range)} is free: this machine has routes to all of it. Choose another range.`,
  )
}

async function makeGatewayLink(name: string, block: Range): Promise<GatewayLink> {
  const gateway = block.first + 1
  const far = block.first + sizeOf(block) - 2
  const link = { name, address: far, gateway }
  const netns = await createNetns(insideLines(link))
  try {
    await runIp([
      `addr add ${formatAddress(gateway)}/${block.bits} dev ${name}`,
      ...outsideLines(link, labelOfService()),
    ])
    await setForwarding(name, true)
  } catch (error) {
    await removeGatewayLink(name, netns)
    throw error
  }
  return { block, gateway, far, close: () => removeGatewayLink(name, netns) }
}

async function removeGatewayLink(name: string, netns: Netns) {
  await deleteLink(name)
  netns.close()
}

const asRange = ({ address }: Resolver): Range[] => {
  const first = parseAddress(address)
  return first === undefined ? [] : [{ first, bits: 32 }]
}
