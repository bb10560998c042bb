/**
 * The certificates of an edge, by the names that they are for. The context of OpenSSL for one is made when the first visitor
 * asks for it: an edge may have thousands, most of which are not asked for.
 */
import { X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { EdgeCertificate, EdgeChallenges, OcspStaple } from './types.ts'

type Held = { certificate: EdgeCertificate; context: SecureContext | undefined }

export function createCertificates() {
  const byId = new Map<string, Held>()
  let byName = new Map<string, Held>()
  /** By the leaf in DER, as OpenSSL names it. */
  let staples = new Map<string, OcspStaple>()
  let alpn: EdgeChallenges['alpn'] = {}

  function change({ set, removed }: { set: readonly EdgeCertificate[]; removed: readonly string[] }) {
    for (const id of removed) byId.delete(id)
    for (const certificate of set) byId.set(certificate.id, { certificate, context: undefined })
    byName = new Map()
    for (const held of byId.values()) for (const name of held.certificate.names) byName.set(name, held)
    staples = new Map(
      [...byId.values()].flatMap(({ certificate: { chain, staple } }) =>
        staple ? [[new X509Certificate(chain).raw.toString('latin1'), staple] as const] : [],
      ),
    )
  }

  /** The one for this very name, else the wildcard that covers it. */
  const find = (name: string): Held | undefined => byName.get(name) ?? byName.get(name.replace(/^[^.]+/, '*'))

  return {
    change,

    all: (): EdgeCertificate[] => [...byId.values()].map(({ certificate }) => certificate),

    has: (name: string): boolean => find(name) !== undefined,

    /** Whether one certificate is used for both names, so that a connection to one may be used for the other. */
    isShared(one: string, other: string): boolean {
      const held = find(one)
      return held !== undefined && held === find(other)
    },

    /** Undefined where there is none for this name. Throws where OpenSSL refuses it. */
    contextOf(name: string): SecureContext | undefined {
      const held = find(name)
      if (!held) return undefined
      held.context ??= contextOf(held.certificate)
      return held.context
    },

    hasStaples: (): boolean => staples.size > 0,

    /** What a client that asks for it gets beside this certificate. */
    stapleOf(leaf: Buffer, now: number): Buffer | undefined {
      const staple = staples.get(leaf.toString('latin1'))
      return staple && staple.until > now ? Buffer.from(staple.response, 'base64') : undefined
    },

    setChallenges(challenges: EdgeChallenges['alpn']) {
      alpn = challenges
    },

    /** The certificate that proves to a CA that this name leads here (RFC 8737). */
    challengeOf(name: string): SecureContext | undefined {
      const challenge = Object.hasOwn(alpn, name) ? alpn[name] : undefined
      return challenge && contextOf(challenge)
    },
  }
}

export type Certificates = ReturnType<typeof createCertificates>

const contextOf = ({ chain, key }: { chain: string; key: string }): SecureContext =>
  createSecureContext({ cert: chain, key, ...PROTOCOL })

/**
 * TLS 1.2 and 1.3. Of TLS 1.2 only suites with forward secrecy and authenticated encryption, as browsers of the last ten years
 * have them (Mozilla's "intermediate" profile).
 */
export const PROTOCOL = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
  ecdhCurve: 'X25519:P-256:P-384',
} as const
