/**
 * The anchor is a cable that leads nowhere. Its end on the machine has the address that all views know as their gateway, and
 * the route to all of the service's addresses, by which others see that they are taken. It ends with the service, so while
 * it is there, the service is.
 */
import { chooseBlock, formatAddress, formatRange, overlaps, parseAddress, type Range, sizeOf } from './addresses.ts'
import { makeNamespace, type Namespace, NetworkError, runIp } from './commands.ts'
import type { Resolver } from './dns/resolvers.ts'
import { setForwarding } from './firewall/forwarding.ts'
import { deleteLink, insideLines, outsideLines, routesInUse } from './links.ts'
import { interfacesOf } from './names.ts'
import type { Policy } from './settings.ts'
import { labelOfService } from './sweep.ts'

export type Anchor = {
  block: Range
  gateway: number
  /** The address at its far end. */
  far: number
  close(): Promise<void>
}

const TRIES = 5

export async function dropAnchor(
  id: string,
  { range, allowed }: Policy,
  resolvers: readonly Resolver[],
): Promise<Anchor> {
  const { anchor: name } = interfacesOf(id)
  const wanted = [...allowed.map((exception) => exception.range), ...resolvers.flatMap(asRange)]
  for (let tries = 0; tries < TRIES; tries++) {
    const block = chooseBlock(range, [...(await routesInUse(name)), ...wanted], Number.parseInt(id, 16))
    if (!block) break
    const anchor = await makeAnchor(name, block)
    // Another service may have chosen the same at the same time: then both look again.
    if (!(await routesInUse(name)).some((other) => overlaps(block, other))) return anchor
    await anchor.close()
  }
  throw new NetworkError(
    `no part of ${formatRange(range)} is free: this machine has routes to all of it. Choose another range.`,
  )
}

async function makeAnchor(name: string, block: Range): Promise<Anchor> {
  const gateway = block.first + 1
  const far = block.first + sizeOf(block) - 2
  const link = { name, address: far, gateway }
  const namespace = await makeNamespace(insideLines(link))
  try {
    await runIp([
      `addr add ${formatAddress(gateway)}/${block.bits} dev ${name}`,
      ...outsideLines(link, labelOfService()),
    ])
    await setForwarding(name, true)
  } catch (error) {
    await weigh(name, namespace)
    throw error
  }
  return { block, gateway, far, close: () => weigh(name, namespace) }
}

async function weigh(name: string, namespace: Namespace) {
  await deleteLink(name)
  namespace.close()
}

const asRange = ({ address }: Resolver): Range[] => {
  const first = parseAddress(address)
  return first === undefined ? [] : [{ first, bits: 32 }]
}
