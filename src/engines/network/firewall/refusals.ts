/** What the firewall rules refuse, computed without a packet. */
import { networkInterfaces } from 'node:os'
import { contains, parseAddress, type Range } from '../addresses.ts'
import { isRefused, type NetworkSettings, type Policy, readPolicy } from '../settings.ts'
import { NO_SITES, type SiteAccess } from '../sites.ts'

type Destination = { address: string; port: number }

type Rules = {
  policy: Policy
  /** The addresses of the service's jobs. */
  block: Range
  /** The sites, where those who call may reach them. */
  sites?: SiteAccess
}

/** By the addresses that the machine has now, which are read once. */
export function refusalsNow({ policy, block, sites = NO_SITES }: Rules): (destination: Destination) => boolean {
  const machine = addressesOfMachine()
  return ({ address, port }) => {
    const number = parseAddress(address) ?? 0
    const isOfMachine = machine.has(address) || contains(block, number)
    if (machine.has(address) && sites.ports.includes(port)) return false
    return isRefused(policy, isOfMachine, number, port)
  }
}

/** Whether programs of tenants may call an IPv4 address, for calls that the service makes in their place. */
export function reachableByJobs(settings: NetworkSettings): (address: string, port: number) => boolean {
  const policy = readPolicy(settings)
  return (address, port) =>
    parseAddress(address) !== undefined && !refusalsNow({ policy, block: policy.range })({ address, port })
}

const addressesOfMachine = (): ReadonlySet<string> =>
  new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)))
