/**
 * Connections between machines: TLS 1.3 with a pre-shared key, by which each side proves to the other that it belongs to the
 * service. There is no certificate, so nothing has to be issued, renewed or revoked. The keys of a connection come from an
 * exchange of its own (X25519 with ML-KEM where both have it), so a token that leaks later opens no recorded one. What may connect
 * is decided by `join-token.ts`.
 *
 *   a connection is …   until                      and ends if
 *   pending             its greeting has arrived   that takes longer than GREETING_MS, or it is the oldest of too many
 *   greeted             it is closed               its peer is silent (`pulse.ts`)
 */
import { createServer, type Socket } from 'node:net'
import { connect, createSecureContext, TLSSocket, type TLSSocketOptions } from 'node:tls'
import { type Identity, identityText, readIdentity, readJoinToken, secretOf } from './join-token.ts'

/** Where a control process listens; `key` is the one that join tokens are made from. */
export type SecureListen = {
  host: string
  port: number
  key: string
  /** Whether a token of this identity is still good; all are where it is not given. */
  isValid?(identity: Identity): boolean
}

/** Where a control process is reached. */
export type SecureAddress = { host: string; port: number; token: string }

/** From the first packet to the greeting, on both sides. */
const GREETING_MS = 5000

/** A handshake takes milliseconds, so an honest one is over before so many others have begun. */
const MAX_PENDING = 128

/** A pre-shared key without further agreement is used with SHA-256. */
const TLS = { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' } as const

export class PeerRefused extends Error {}

type Listener = {
  /** `greeted` is to be called when its greeting has arrived. */
  onConnection(socket: Socket, identity: Identity, greeted: () => void): void
  onRefused(error: Error): void
}

export async function openSecurePort(listen: SecureListen, { onConnection, onRefused }: Listener) {
  const { host, port, key, isValid = () => true } = listen
  const secureContext = createSecureContext(TLS)
  const pending = new Map<Socket, NodeJS.Timeout>()
  /** With the identity, once it is known. */
  const open = new Map<Socket, Identity | undefined>()

  function greeted(transport: Socket) {
    clearTimeout(pending.get(transport))
    pending.delete(transport)
  }

  function end(transport: Socket, why: string) {
    greeted(transport)
    transport.destroy()
    onRefused(new PeerRefused(why))
  }

  function admit(transport: Socket) {
    const [oldest] = pending.keys()
    if (oldest && pending.size >= MAX_PENDING) end(oldest, 'too many connections were waiting for their greeting')
    const late = () => end(transport, `the greeting of ${transport.remoteAddress} did not arrive in time`)
    pending.set(transport, setTimeout(late, GREETING_MS))
    open.set(transport, undefined)
    transport.once('close', () => {
      greeted(transport)
      open.delete(transport)
    })
  }

  const server = createServer({ noDelay: true }, (transport) => {
    admit(transport)
    let identity: Identity | undefined
    const options: TLSSocketOptions & { pskCallback(socket: TLSSocket, text: string): Buffer | null } = {
      isServer: true,
      secureContext,
      pskCallback(_, text) {
        const named = readIdentity(text)
        identity = named && isValid(named) ? named : undefined
        return identity ? secretOf(key, identity) : null
      },
    }
    const socket = new TLSSocket(transport, options)
    socket.on('error', (error) => {
      if (pending.has(transport))
        end(transport, `the handshake of ${transport.remoteAddress} failed: ${reasonOf(error)}`)
    })
    socket.once('secure', () => {
      // A session that is resumed has no identity; none is.
      if (identity) {
        open.set(transport, identity)
        onConnection(socket, identity, () => greeted(transport))
      } else end(transport, 'a connection came without an identity')
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // During a reload, two processes listen for a while.
    server.listen({ host, port, reusePort: process.platform === 'linux' }, resolve)
  })

  return {
    port: portOf(server.address()),
    /** Ends connections whose token is not good any more. */
    endInvalid() {
      for (const [transport, identity] of open)
        if (identity && !isValid(identity)) {
          transport.destroy()
          onRefused(new PeerRefused(`the token of ${identityText(identity)} was revoked`))
        }
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const transport of open.keys()) transport.destroy()
      await closed
    },
  }
}

/** Resolves when both sides have proven that they have the token. `greeted` is to be called when the greeting has arrived. */
export async function connectSecurely({ host, port, token }: SecureAddress, signal?: AbortSignal) {
  const { secret, ...identity } = readJoinToken(token)
  const socket = connect({
    ...TLS,
    host,
    port,
    pskCallback: () => ({ psk: secret, identity: identityText(identity) }),
    // There is no certificate whose name could be checked.
    checkServerIdentity: () => undefined,
  })
  const abort = () => socket.destroy(new PeerRefused('the connection was given up'))
  const late = () => socket.destroy(new PeerRefused(`${host}:${port} did not answer in time`))
  const timer = setTimeout(late, GREETING_MS)
  signal?.addEventListener('abort', abort, { once: true })
  socket.once('close', () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', (error) => reject(new PeerRefused(`${host}:${port}: ${reasonOf(error)}`)))
    socket.once('close', () => reject(new PeerRefused(`${host}:${port} closed the connection`)))
    socket.once('secureConnect', () => {
      // Without the key, another server could answer with a certificate that is valid for its name.
      if (socket.isSessionReused()) return resolve()
      socket.destroy()
      reject(new PeerRefused(`${host}:${port} is no control process of this service`))
    })
  })
  socket.setNoDelay(true)
  return { socket, greeted: () => clearTimeout(timer) }
}

/** The text of OpenSSL has its source file and line. */
function reasonOf(error: Error): string {
  const { reason, code } = error as { reason?: string; code?: string }
  return reason ?? code ?? error.message
}

const portOf = (address: ReturnType<ReturnType<typeof createServer>['address']>): number =>
  typeof address === 'object' && address ? address.port : 0
