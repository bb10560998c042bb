/**
 * Revisions of the Model Context Protocol. Up to 2025-11-25 a client opens with `initialize`, and what is agreed then holds for the
 * process. Since 2026-07-28 every request says its revision and what its client can do.
 */
import { CODES, isObject, type Params, ProtocolError } from './messages.ts'

export const PER_REQUEST = ['2026-07-28']
export const BY_HANDSHAKE = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
/** Later ones have no batches. */
const WITH_BATCHES = ['2025-03-26', '2024-11-05']

/** What is known of the client of a request. */
export type Peer = { version: string; isPerRequest: boolean; canAsk: boolean }

const META = 'io.modelcontextprotocol'
export const SERVER_INFO = `${META}/serverInfo`

/** By an `initialize` request. A client that does not know the answered revision goes. */
export function peerByHandshake({ protocolVersion, capabilities }: Params): Peer {
  if (typeof protocolVersion !== 'string') throw new ProtocolError(CODES.params, 'protocolVersion is missing')
  const version = BY_HANDSHAKE.find((known) => known === protocolVersion) ?? (BY_HANDSHAKE[0] as string)
  return { version, isPerRequest: false, canAsk: hasForms(capabilities) }
}

/** Of a request that says so itself; undefined for one that relies on a handshake. */
export function peerOfRequest({ _meta: meta }: Params): Peer | undefined {
  const requested = isObject(meta) ? meta[`${META}/protocolVersion`] : undefined
  if (!isObject(meta) || requested === undefined) return undefined
  if (!PER_REQUEST.some((known) => known === requested)) {
    throw new ProtocolError(CODES.version, 'Unsupported protocol version', { supported: PER_REQUEST, requested })
  }
  const capabilities = meta[`${META}/clientCapabilities`]
  if (!isObject(capabilities)) throw new ProtocolError(CODES.params, `${META}/clientCapabilities is missing`)
  return { version: requested as string, isPerRequest: true, canAsk: hasForms(capabilities) }
}

export const takesBatches = (peer: Peer | undefined): boolean =>
  peer !== undefined && WITH_BATCHES.includes(peer.version)

/** Whether the client shows a form to its user. Before there was another kind, it declared that by an empty object. */
function hasForms(capabilities: unknown): boolean {
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined
  return isObject(elicitation) && (Object.keys(elicitation).length === 0 || 'form' in elicitation)
}
