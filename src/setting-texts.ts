/** How the text of a setting is read. Each parser throws an error whose message completes "the setting is …: it must be …". */
import { isIP } from 'node:net'
import { parseDatabaseAddress, Secret } from './base/index.ts'
import { names } from './contract/index.ts'

export type Setting<T> = { meaning: string; byDefault: string; isSecret?: true; parse(text: string): T }

export const setting = <T>(byDefault: string, meaning: string, parse: (text: string) => T): Setting<T> => ({
  byDefault,
  meaning,
  parse,
})

export type Listen = { host: string; port: number }

export const formatListen = ({ host, port }: Listen): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

export function parseBoolean(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw new Error('it must be true or false')
}

export function parseList(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter(Boolean)
}

export function parseListen(text: string): Listen {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  if (!match || port > 65_535) throw new Error('it must be host:port, as in 127.0.0.1:8080 or [::1]:8080')
  return { host: match[1] ?? match[2] ?? '', port }
}

export function parseListens(text: string): Listen[] {
  const found = parseList(text).map(parseListen)
  if (found.some(({ port }) => port === 0)) throw new Error('it must be host:port separated by commas, without port 0')
  return found
}

export function optionalUrl(text: string): string | undefined {
  if (text === '') return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash) {
    throw new Error('it must be an address without a path, as in https://headland.example.com')
  }
  return url.origin
}

export function parseDomain(text: string): string {
  if (!/^(?=.{1,190}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(text)) {
    throw new Error('it must be a domain name in lower case, as in sites.example.com')
  }
  return text
}

export function parseRanges(text: string): string[] {
  const ranges = parseList(text)
  for (const range of ranges) {
    const [address = '', bits, ...rest] = range.split('/')
    const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
    const isRange = bits === undefined ? maxBits > 0 : /^\d{1,3}$/.test(bits) && Number(bits) <= maxBits
    if (!isRange || rest.length > 0)
      throw new Error('it must be addresses or ranges separated by commas, as in 10.0.0.0/8,::1')
  }
  return ranges
}

export function parseHosts(text: string): string[] {
  const hosts = parseList(text.toLowerCase())
  if (!hosts.every((host) => /^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/.test(host)))
    throw new Error('it must be host names separated by commas, as in api.example.com,*.example.org,10.0.0.5:8443')
  return hosts
}

const ACCOUNT = new RegExp(String(names.accountName.pattern))

export function parseAccounts(text: string): string[] {
  const accounts = parseList(text)
  if (!accounts.every((account) => ACCOUNT.test(account)))
    throw new Error('it must be names of accounts separated by commas, as in operators,default')
  return accounts
}

export function parseAddresses(text: string): string[] {
  const addresses = parseList(text)
  if (!addresses.every((address) => isIP(address) && !address.includes('%')))
    throw new Error('it must be IP addresses separated by commas, as in 203.0.113.10,2001:db8::10')
  return addresses
}

export function parseDnsServers(text: string): string[] {
  const servers = parseList(text)
  for (const server of servers) {
    const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(server) ?? []
    const isServer = isIP(server) || (isIP(bracketed ?? plain ?? '') && Number(port ?? 53) <= 65_535 && port !== '0')
    if (!isServer)
      throw new Error('it must be IP addresses separated by commas, as in 9.9.9.9,127.0.0.1:5353,[2620:fe::fe]:53')
  }
  return servers
}

export function parseEmail(text: string): string | undefined {
  if (text === '') return undefined
  if (!/^[^\s@,?]{1,64}@[^\s@,?]{1,190}$/.test(text)) throw new Error('it must be an e-mail address')
  return text
}

/** `https://registry.example/prefix`, without a slash at its end. */
export function parseRegistry(text: string): string | undefined {
  if (text === '') return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const path = url?.pathname.replaceAll(/^\/+|\/+$/g, '') ?? ''
  const isPath = path === '' || /^[a-z0-9]+(?:(?:\.|_|__|-+|\/)[a-z0-9]+)*$/.test(path)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || !isPath || path.length > 100)
    throw new Error('it must be an address with a path in lower case, as in https://registry.example.com/headland')
  if (url.username || url.password)
    throw new Error('it must have no user and no password: they are the settings registryUser and registryPassword')
  return path === '' ? url.origin : `${url.origin}/${path}`
}

export function parseDirectory(text: string): string {
  if (!URL.canParse(text) || !text.startsWith('https://')) throw new Error('it must be an https address')
  return text
}

export function parseCommand(text: string): readonly [file: string, ...args: string[]] | undefined {
  if (text === '') return undefined
  const words = text.startsWith('[') ? parseJson(text) : [text]
  const isCommand = Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string')
  const [file, ...args] = isCommand ? (words as [string, ...string[]]) : ['']
  if (!file.startsWith('/') || file.includes('\0')) {
    throw new Error(
      'it must be an absolute path, or a JSON list of one and arguments, as in ["/usr/local/bin/dns","--zone","a"]',
    )
  }
  return [file, ...args]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function count(text: string): number {
  if (!/^[1-9]\d{0,12}$/.test(text)) throw new Error('it must be a whole number above 0')
  return Number(text)
}

/** A timer of Node that is set for 2³¹ ms or longer fires at once. */
const MAX_SECONDS = Math.floor((2 ** 31 - 1) / 1000)

export function seconds(text: string): number {
  const given = count(text)
  if (given > MAX_SECONDS) throw new Error(`it must be at most ${MAX_SECONDS} seconds, which is 24 days`)
  return given
}

/** A year. */
const MAX_DAYS = 366

export function days(text: string): number {
  const given = count(text)
  if (given > MAX_DAYS) throw new Error(`it must be at most ${MAX_DAYS} days`)
  return given
}

export function countOrNone(text: string): number {
  return text === '0' ? 0 : count(text)
}

export function oneOf<T extends string>(choices: readonly T[], text: string): T {
  const chosen = choices.find((choice) => choice === text)
  if (chosen === undefined) throw new Error(`it must be one of ${choices.join(', ')}`)
  return chosen
}

/** Checked, and kept as it is: it has a password. */
export function parseDatabaseUrl(text: string): Secret | undefined {
  if (text === '') return undefined
  parseDatabaseAddress(text)
  return new Secret(text)
}
