/** What the firewall rules refuse, computed without a packet. */
import { networkInterfaces } from 'node:os'
import { contains, parseAddress, type Range } from '../addresses.ts'
import { isRefused, type Policy } from '../settings.ts'

type Destination = { address: string; port: number }

/** By the addresses that the machine has now, which are read once. `block` holds the addresses of the service's jobs. */
export function refusalsNow(policy: Policy, block: Range): (destination: Destination) => boolean {
  const machine = addressesOfMachine()
  return ({ address, port }) => {
    const number = parseAddress(address) ?? 0
    return isRefused(policy, machine.has(address) || contains(block, number), number, port)
  }
}

const addressesOfMachine = (): ReadonlySet<string> =>
  new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)))
