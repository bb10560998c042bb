/**
 * The answers of OCSP responders for certificates that ask for them (`must-staple`), which edges send to visitors. They are
 * fetched before they are needed and again at half of their time. They are kept in memory: edges save the last ones.
 *
 *   state        becomes
 *   due          asking, when a round begins it
 *   asking       kept, until half of the answer's time has passed; or waiting, if there was no usable answer
 *   kept         due
 *   waiting      due, after a pause that doubles with each failure. An earlier answer is used until its end.
 */
import type { X509Certificate } from 'node:crypto'
import type { Clock, Log } from '../../base/index.ts'
import type { OcspStaple } from '../../edge/index.ts'
import { parseChain } from '../x509/chain.ts'
import { askResponder, type MayCall, ResponderFailed } from './ask-responder.ts'
import { asksForStapling, OcspRefused, ocspRequest, readOcspResponse, responderOf } from './ocsp.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const FIRST_PAUSE_MS = 5 * MINUTE_MS
const MAX_PAUSE_MS = 4 * HOUR_MS
/** Answers without an end are asked for again after this time. */
const WITHOUT_END_MS = 12 * HOUR_MS
const MAX_ASKING = 4

/** A certificate that is in use. `isTrusted`: the operator chose its CA, so its responder may be anywhere. */
export type Stapled = { id: string; chain: string; isTrusted: boolean }

type Watched = {
  names: string
  leaf: X509Certificate
  issuer: X509Certificate
  url: string
  isTrusted: boolean
  dueTime: number
  failures: number
  staple: OcspStaple | undefined
}

type Parts = { clock: Clock; log: Log; mayCall: MayCall; signal: AbortSignal }

export function createStaples({ clock, log, mayCall, signal }: Parts) {
  const watched = new Map<string, Watched>()
  const asking = new Map<string, Promise<void>>()

  /** Certificates by id and chain, so that the next chain of an id is another one. */
  const keyOf = ({ id, chain }: Stapled): string => `${id}\n${chain}`

  function watch(certificates: readonly Stapled[]) {
    const kept = new Set(certificates.map(keyOf))
    for (const key of watched.keys()) if (!kept.has(key)) watched.delete(key)
    for (const certificate of certificates) {
      const key = keyOf(certificate)
      const found = watched.has(key) ? undefined : read(certificate)
      if (found) watched.set(key, found)
    }
  }

  /** Undefined for a certificate that does not ask, as nearly all of them. */
  function read({ chain, isTrusted }: Stapled): Watched | undefined {
    const [leaf, issuer] = parseChain(chain)
    if (!leaf || !asksForStapling(leaf)) return undefined
    const [url, names] = [responderOf(leaf), leaf.subjectAltName ?? '']
    if (url && issuer) return { names, leaf, issuer, url, isTrusted, dueTime: 0, failures: 0, staple: undefined }
    const missing = url ? 'the chain lacks its issuer' : 'it names no responder'
    log.warn({ names }, `a certificate asks for stapling (must-staple), but ${missing}: some browsers refuse it`)
    return undefined
  }

  async function ask(one: Watched) {
    const { leaf, issuer, url, names, isTrusted } = one
    try {
      const response = await askResponder(url, ocspRequest(leaf, issuer), isTrusted ? () => true : mayCall, signal)
      const now = clock.now()
      const { status, thisUpdate, nextUpdate } = readOcspResponse(response, { leaf, issuer, now })
      if (status !== 'GOOD') {
        one.staple = undefined
        throw new OcspRefused(`the responder calls the certificate ${status.toLowerCase()}`)
      }
      const until = nextUpdate ?? now + 2 * WITHOUT_END_MS
      one.staple = { response: response.toString('base64'), until }
      one.failures = 0
      one.dueTime = Math.max(now + FIRST_PAUSE_MS, (thisUpdate + until) / 2)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof ResponderFailed || error instanceof OcspRefused)) throw error
      one.dueTime = clock.now() + Math.min(FIRST_PAUSE_MS * 2 ** one.failures++, MAX_PAUSE_MS)
      log.warn({ names, reason: error.message }, 'the answer for stapling (OCSP) could not be got')
    }
  }

  function begin(key: string, one: Watched) {
    const done = ask(one)
      .catch((error) => {
        one.dueTime = clock.now() + FIRST_PAUSE_MS
        log.error({ err: error }, 'an OCSP responder could not be asked')
      })
      .finally(() => asking.delete(key))
    asking.set(key, done)
  }

  return {
    /** Certificates that are in use; others are forgotten. */
    watch,

    /** Begins what is due. */
    refresh() {
      for (const [key, one] of watched) {
        if (asking.size >= MAX_ASKING) return
        if (!asking.has(key) && one.dueTime <= clock.now()) begin(key, one)
      }
    },

    of: (certificate: Stapled): OcspStaple | undefined => watched.get(keyOf(certificate))?.staple,

    /** Another text whenever an answer has changed. */
    state: (): string =>
      [...watched.values()].map(({ staple }) => `${staple?.until} ${staple?.response.slice(-40)}`).join('\n'),

    /** Resolves when no responder is being asked. */
    async settled() {
      while (asking.size > 0) await Promise.all(asking.values())
    },
  }
}

export type Staples = ReturnType<typeof createStaples>
