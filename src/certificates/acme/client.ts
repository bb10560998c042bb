/**
 * A client of ACME (RFC 8555) and of renewal information (RFC 9773). Each function is one step of the protocol, so that the
 * caller can record what was reached between two steps.
 */
import type { Clock } from '../../base/index.ts'
import { type AccountKey, bindExternalAccount, type ExternalAccount, signRequest } from './jws.ts'
import { AcmeProblem, CaUnreachable } from './problem.ts'
import { type Answer, checkUrl, retryAfterOf, type Transport } from './transport.ts'

export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01'

export type Challenge = { type: string; url: string; token: string; status: string; error?: unknown }
export type Authorization = {
  status: string
  name: string
  isWildcard: boolean
  challenges: Challenge[]
  retryAfterMs?: number | undefined
}
export type Order = {
  url: string
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  authorizations: string[]
  finalize: string
  certificate: string | undefined
  error: unknown
  retryAfterMs: number | undefined
}

type Directory = {
  newNonce: string
  newAccount: string
  newOrder: string
  renewalInfo: string | undefined
  needsExternalAccount: boolean
}

type Parts = { clock: Clock; transport: Transport; directoryUrl: string }

/** A nonce is used once; those of earlier answers are kept for the next requests. */
const MAX_NONCES = 8
/** RFC 8555, section 6.5: a refused nonce is retried with the one of the refusal. */
const MAX_BAD_NONCES = 10
/** How long the directory is used without being asked for again. */
const DIRECTORY_MS = 3600 * 1000
const MAX_AUTHORIZATIONS = 10
const MAX_CHALLENGES = 20

export function createAcmeClient({ clock, transport, directoryUrl }: Parts) {
  let known: { directory: Directory; time: number } | undefined
  const nonces: string[] = []

  async function directory(): Promise<Directory> {
    if (known && clock.now() - known.time < DIRECTORY_MS) return known.directory
    const answer = await transport.ask({ method: 'GET', url: directoryUrl })
    const found = objectOf(await accepted(answer))
    const meta = (found.meta ?? {}) as { externalAccountRequired?: unknown }
    const made: Directory = {
      newNonce: checkUrl(found.newNonce, 'newNonce'),
      newAccount: checkUrl(found.newAccount, 'newAccount'),
      newOrder: checkUrl(found.newOrder, 'newOrder'),
      renewalInfo: found.renewalInfo === undefined ? undefined : checkUrl(found.renewalInfo, 'renewalInfo'),
      needsExternalAccount: meta.externalAccountRequired === true,
    }
    known = { directory: made, time: clock.now() }
    return made
  }

  function keepNonce({ headers }: Answer) {
    const [nonce] = [headers['replay-nonce'] ?? []].flat()
    if (nonce && /^[A-Za-z0-9_-]{1,512}$/.test(nonce) && nonces.length < MAX_NONCES) nonces.push(nonce)
  }

  async function nextNonce(): Promise<string> {
    const kept = nonces.pop()
    if (kept) return kept
    const answer = await transport.ask({ method: 'HEAD', url: (await directory()).newNonce })
    keepNonce(answer)
    const nonce = nonces.pop()
    if (nonce) return nonce
    await accepted(answer)
    throw new CaUnreachable('the CA gave no nonce')
  }

  /** `kid`: the account; without one the request carries the key itself. */
  async function post(signer: Signer, url: string, payload: unknown, accept?: string): Promise<Answer> {
    for (let refused = 0; ; refused++) {
      const nonce = await nextNonce()
      const header = { nonce, url, ...(signer.kid === undefined ? { jwk: signer.key.jwk } : { kid: signer.kid }) }
      const body = signRequest(signer.key, header, payload)
      const answer = await transport.ask({ method: 'POST', url, body, ...(accept ? { accept } : {}) })
      keepNonce(answer)
      try {
        return await accepted(answer)
      } catch (error) {
        const isBadNonce = error instanceof AcmeProblem && error.type === 'badNonce'
        if (!isBadNonce || refused >= MAX_BAD_NONCES) throw error
      }
    }
  }

  async function accepted(answer: Answer): Promise<Answer> {
    const { status, text } = answer
    if (status >= 200 && status < 300) return answer
    const retryAfterMs = retryAfterOf(answer, clock)
    const document = parse(text)
    if (typeof document === 'object' && document !== null && 'type' in document) {
      throw new AcmeProblem(document, status, retryAfterMs)
    }
    if (status === 429 || status === 503) {
      const type = status === 429 ? 'rateLimited' : 'serverInternal'
      throw new AcmeProblem({ type, detail: `the CA answered with status ${status}` }, status, retryAfterMs)
    }
    throw new CaUnreachable(`the CA answered with status ${status}`)
  }

  async function readOrder(answer: Answer, url: string): Promise<Order> {
    const found = objectOf(answer)
    const authorizations = Array.isArray(found.authorizations) ? found.authorizations : []
    if (authorizations.length > MAX_AUTHORIZATIONS) throw new CaUnreachable('the CA wants too many authorizations')
    const status = STATES.find((state) => state === found.status)
    if (!status) throw new CaUnreachable('the CA gave an order of an unknown state')
    return {
      url,
      status,
      authorizations: authorizations.map((each) => checkUrl(each, 'an authorization')),
      finalize: checkUrl(found.finalize, 'finalize'),
      certificate: found.certificate === undefined ? undefined : checkUrl(found.certificate, 'a certificate'),
      error: found.error,
      retryAfterMs: retryAfterOf(answer, clock),
    }
  }

  return {
    /** Whether the CA tells when to renew. */
    tellsRenewal: async (): Promise<boolean> => (await directory()).renewalInfo !== undefined,

    /** The address of the account of this key; one that exists already is found (RFC 8555, section 7.3). */
    async account(key: AccountKey, { email, external }: NewAccount): Promise<string> {
      const { newAccount, needsExternalAccount } = await directory()
      if (needsExternalAccount && !external) throw new AcmeProblem({ type: 'externalAccountRequired' }, 403)
      const answer = await post({ key }, newAccount, {
        termsOfServiceAgreed: true,
        contact: [`mailto:${email}`],
        ...(external ? { externalAccountBinding: bindExternalAccount(external, newAccount, key.jwk) } : {}),
      })
      return checkUrl(locationOf(answer, newAccount), 'the account')
    },

    async setContact(signer: Known, email: string) {
      await post(signer, signer.kid, { contact: [`mailto:${email}`] })
    },

    /** `replaces`: the renewal id of the certificate that this one follows. */
    async newOrder(signer: Known, name: string, replaces?: string): Promise<Order> {
      const { newOrder } = await directory()
      const payload = { identifiers: [{ type: 'dns', value: name }], ...(replaces ? { replaces } : {}) }
      const answer = await post(signer, newOrder, payload)
      return readOrder(answer, checkUrl(locationOf(answer, newOrder), 'the order'))
    },

    async order(signer: Known, url: string): Promise<Order> {
      return readOrder(await post(signer, checkUrl(url, 'the order'), undefined), url)
    },

    async authorization(signer: Known, url: string): Promise<Authorization> {
      const answer = await post(signer, url, undefined)
      const found = objectOf(answer)
      const identifier = (found.identifier ?? {}) as { value?: unknown }
      const challenges = (Array.isArray(found.challenges) ? found.challenges : []).slice(0, MAX_CHALLENGES)
      return {
        status: String(found.status),
        name: String(identifier.value),
        isWildcard: found.wildcard === true,
        challenges: challenges.map(readChallenge),
        retryAfterMs: retryAfterOf(answer, clock),
      }
    },

    /** Tells the CA that the challenge is answered now. */
    async respond(signer: Known, { url }: Challenge) {
      await post(signer, url, {})
    },

    async finalize(signer: Known, { url, finalize }: Order, request: Buffer): Promise<Order> {
      return readOrder(await post(signer, finalize, { csr: request.toString('base64url') }), url)
    },

    /** The chain as PEM. */
    async download(signer: Known, url: string): Promise<string> {
      return (await post(signer, url, undefined, 'application/pem-certificate-chain')).text
    },

    /** Undefined where the CA does not tell. */
    async renewalInfo(id: string): Promise<RenewalInfo | undefined> {
      const { renewalInfo } = await directory()
      if (renewalInfo === undefined) return undefined
      const answer = await accepted(
        await transport.ask({ method: 'GET', url: `${renewalInfo.replace(/\/$/, '')}/${id}` }),
      )
      const { start, end } = (objectOf(answer).suggestedWindow ?? {}) as { start?: unknown; end?: unknown }
      const window = { start: Date.parse(String(start)), end: Date.parse(String(end)) }
      if (!(window.end > window.start)) throw new CaUnreachable('the CA gave no time to renew')
      return { ...window, retryAfterMs: retryAfterOf(answer, clock) }
    },
  }
}

export type AcmeClient = ReturnType<typeof createAcmeClient>

export type RenewalInfo = { start: number; end: number; retryAfterMs: number | undefined }
type NewAccount = { email: string; external?: ExternalAccount | undefined }
type Signer = { key: AccountKey; kid?: string }
/** An account that the CA knows. */
export type Known = { key: AccountKey; kid: string }

const STATES: readonly Order['status'][] = ['pending', 'ready', 'processing', 'valid', 'invalid']

function readChallenge(given: unknown): Challenge {
  const { type, url, token, status, error } = (given ?? {}) as Record<string, unknown>
  // The token becomes part of a path, so only its alphabet is accepted (RFC 8555, section 8.1).
  const isToken = typeof token === 'string' && /^[A-Za-z0-9_-]{1,512}$/.test(token)
  return {
    type: isToken ? String(type) : 'unknown',
    url: checkUrl(url, 'a challenge'),
    token: isToken ? token : '',
    status: String(status),
    ...(error === undefined ? {} : { error }),
  }
}

function locationOf({ headers }: Answer, base: string): string {
  const [location = ''] = [headers.location ?? []].flat()
  return URL.canParse(location, base) ? new URL(location, base).href : ''
}

function objectOf({ text }: Answer): Record<string, unknown> {
  const found = parse(text)
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw new CaUnreachable('the CA answered with something else than JSON: is it the address of an ACME directory?')
  }
  return found as Record<string, unknown>
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
