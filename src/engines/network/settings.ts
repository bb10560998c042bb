/** What jobs may reach, as the operator configures it, and what follows from it for one address. */
import { contains, parseAddress, parseRange, type Range } from './addresses.ts'

export type NetworkSettings = {
  /** The range from which jobs get their addresses. */
  range: string
  /** Ranges that jobs do not reach, beside those that they never do. */
  blocked: readonly string[]
  /** Exceptions: an address or range, with a port or without. */
  allowed: readonly string[]
}

export const DEFAULT_NETWORK_SETTINGS: NetworkSettings = {
  range: '10.201.0.0/16',
  blocked: ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16'],
  allowed: [],
}

export type Exception = { range: Range; port: number | undefined }

export type Policy = { range: Range; blocked: readonly Range[]; allowed: readonly Exception[] }

/** Throws what is wrong with the settings. */
export function readPolicy({ range, blocked, allowed }: NetworkSettings): Policy {
  const policy = {
    range: rangeOf(range),
    blocked: [...NEVER_REACHED.map(rangeOf), ...blocked.map(rangeOf)],
    allowed: allowed.map(exceptionOf),
  }
  if (policy.range.bits < 8 || policy.range.bits > 24) {
    throw new Error(`the range of the jobs is ${range}: it must have between 8 and 24 bits, as in 10.201.0.0/16`)
  }
  return policy
}

export function describeSettings({ blocked, allowed }: NetworkSettings): string {
  const out = ['this machine', 'each other', 'link-local', ...blocked].join(', ')
  return `blocked: ${out}${allowed.length > 0 ? `; allowed: ${allowed.join(', ')}` : ''}`
}

/** The same decision as the firewall rules make. Only an exception with a port opens the machine itself. */
export function isRefused({ blocked, allowed }: Policy, isOfMachine: boolean, address: number, port: number): boolean {
  const exceptions = allowed.filter(({ range }) => contains(range, address))
  if (exceptions.some((exception) => exception.port === port)) return false
  if (isOfMachine) return true
  if (exceptions.some((exception) => exception.port === undefined)) return false
  return blocked.some((range) => contains(range, address))
}

/** Addresses that are not on the internet, and the metadata services of clouds. An exception still opens them. */
const NEVER_REACHED = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '168.63.129.16',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

function rangeOf(text: string): Range {
  const range = parseRange(text)
  if (range) return range
  if (text.includes(':')) throw new Error(`${text} is no IPv4 address or range, and jobs have no IPv6`)
  const [address = ''] = text.split('/')
  throw new Error(
    parseAddress(address) === undefined
      ? `${text} is no IPv4 address or range, as in 10.0.0.0/8`
      : `${text} is no range: it must begin at its first address, as in 10.0.0.0/8`,
  )
}

function exceptionOf(text: string): Exception {
  const [, place = text, port] = /^([^:]*):(\d{1,5})$/.exec(text) ?? []
  if (Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) throw new Error(`${text} has an invalid port`)
  return { range: rangeOf(place), port: port === undefined ? undefined : Number(port) }
}
