/** The resolvers that this machine uses, as /etc/resolv.conf names them. */
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { absent } from '../../../base/index.ts'

export type Resolver = { address: string; port: number }

const DNS_PORT = 53
/** As many as the C library looks at. */
const MAX_RESOLVERS = 3
const FRESH_MS = 5000

/** Read again when it is older than FRESH_MS: the machine may move to another network, or a VPN may come up. */
export function watchResolvers(file: string): () => Promise<readonly Resolver[]> {
  let known: { resolvers: Promise<readonly Resolver[]>; readTime: number } | undefined
  return () => {
    const now = performance.now()
    if (known === undefined || now - known.readTime > FRESH_MS) {
      known = { resolvers: readIfThere(file).then(resolversIn), readTime: now }
    }
    return known.resolvers
  }
}

/** The file that jobs see instead: the same with the gateway as the only resolver. */
export async function resolverFileFor(gateway: string, file: string): Promise<string> {
  const kept = (await readIfThere(file)).split('\n').filter((line) => /^(search|domain|options)\s/.test(line))
  return [`nameserver ${gateway}`, ...kept, ''].join('\n')
}

export function resolversIn(text: string): Resolver[] {
  const found = text.split('\n').flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
  const addresses = found.filter((address) => isIP(address) !== 0).slice(0, MAX_RESOLVERS)
  // Without a name server in the file, the C library uses the machine itself.
  return (addresses.length > 0 ? addresses : ['127.0.0.1']).map((address) => ({ address, port: DNS_PORT }))
}

const readIfThere = async (file: string): Promise<string> => (await readFile(file, 'utf8').catch(absent)) ?? ''
