/**
 * Which proxy leads to an address: the variables that curl reads, with its rules. This machine itself is never reached
 * through a proxy, to which `localhost` would be another machine.
 */
import { BlockList, isIP } from 'node:net'
import { UsageError } from '../../contract/index.ts'

/** The values from the environment of the process, each with the name of its variable. */
export type ProxyVariables = {
  http?: Named | undefined
  https?: Named | undefined
  /** Hosts that are reached without one. */
  except?: string | undefined
}
type Named = { variable: string; value: string }

export type ProxyServer = {
  /** With the password. */
  url: URL
  /** What may be shown of it. */
  shown: string
  variable: string
}

export function proxyFor(address: string, { http, https, except = '' }: ProxyVariables): ProxyServer | undefined {
  const target = new URL(address)
  const named = target.protocol === 'https:' ? https : http
  if (!named || isThisMachine(target.hostname) || isExcepted(target, except)) return undefined
  const url = URL.parse(named.value.includes('://') ? named.value : `http://${named.value}`)
  // The value is not repeated: there may be a password in it.
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw new UsageError(
      `${named.variable} is not the address of an HTTP proxy, as in http://proxy.example.com:3128. Correct it, or unset it`,
    )
  }
  return { url, shown: url.origin, variable: named.variable }
}

/** Names and addresses by which every machine reaches itself. */
export const isThisMachine = (hostname: string): boolean =>
  /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])\.?$/i.test(hostname)

/**
 * One of a list with commas or spaces: `*`; a domain, with or without a dot or `*.` before it, which stands for all below
 * it too; an address; a range. Each may have a port.
 */
function isExcepted(target: URL, list: string): boolean {
  const host = bare(target.hostname)
  const port = target.port || (target.protocol === 'https:' ? '443' : '80')
  return list.split(/[\s,]+/).some((entry) => {
    const [, name = entry, wantedPort] = WITH_PORT.exec(entry) ?? []
    if (name === '' || (wantedPort !== undefined && wantedPort !== port)) return false
    if (name === '*') return true
    const wanted = bare(name)
    if (isIP(host) > 0) return isInRange(host, wanted)
    const domain = wanted.replace(/^(\*?\.)/, '')
    return domain !== '' && (host === domain || host.endsWith(`.${domain}`))
  })
}

/** An IPv6 address without brackets has colons of its own, and no port. */
const WITH_PORT = /^(\[[^\]]*\](?:\/\d+)?|[^:]*)(?::(\d+))?$/

/** Without the brackets of an IPv6 address, and without the dot that ends a full name. */
const bare = (hostname: string): string =>
  hostname
    .toLowerCase()
    .replace(/^\[(.*)\]/, '$1')
    .replace(/\.$/, '')

function isInRange(address: string, range: string): boolean {
  const [first = '', bits] = range.split('/')
  const family = isIP(first)
  if (family === 0 || family !== isIP(address)) return false
  const max = family === 4 ? 32 : 128
  const prefix = bits === undefined ? max : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  if (!(prefix <= max)) return false
  const type = family === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(first, prefix, type)
  return list.check(address, type)
}
