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
import { askResponder, type Calling, ResponderFailed } from './ask-responder.ts'
import { asksForStapling, mayAskForStapling, OcspRefused, ocspRequest, readOcspResponse, responderOf } from './ocsp.ts'

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
  chain: string
  names: string
  leaf: X509Certificate
  issuer: X509Certificate
  url: string
  isTrusted: boolean
  dueTime: number
  failures: number
  staple: OcspStaple | undefined
}

type Parts = { clock: Clock; log: Log; calling: Calling; signal: AbortSignal }

export function createStaples({ clock, log, calling, signal }: Parts) {
  const watched = new Map<string, Watched>()
  const asking = new Map<Watched, Promise<void>>()

  function watch(certificates: readonly Stapled[]) {
    const asking = certificates.filter(({ chain }) => mayAskForStapling(chain))
    const kept = new Set(asking.map(({ id }) => id))
    for (const id of watched.keys()) if (!kept.has(id)) watched.delete(id)
    for (const certificate of asking) {
      const { id, chain } = certificate
      if (watched.get(id)?.chain === chain) continue
      const found = read(certificate)
      if (found) watched.set(id, found)
      else watched.delete(id)
    }
  }

  /** Undefined for a certificate that does not ask. */
  function read({ chain, isTrusted }: Stapled): Watched | undefined {
    const [leaf, issuer] = parseChain(chain)
    if (!leaf || !asksForStapling(leaf)) return undefined
    const [url, names] = [responderOf(leaf), leaf.subjectAltName ?? '']
    if (url && issuer) return { chain, names, leaf, issuer, url, isTrusted, dueTime: 0, failures: 0, staple: undefined }
    const missing = url ? 'the chain lacks its issuer' : 'it names no responder'
    log.warn({ names }, `a certificate asks for stapling (must-staple), but ${missing}: some browsers refuse it`)
    return undefined
  }

  async function ask(one: Watched) {
    const { leaf, issuer, url, names, isTrusted } = one
    try {
      const how = isTrusted ? { ...calling, mayCall: () => true } : calling
      const response = await askResponder(url, ocspRequest(leaf, issuer), how, signal)
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

  function begin(one: Watched) {
    const done = ask(one)
      .catch((error) => {
        one.dueTime = clock.now() + FIRST_PAUSE_MS
        log.error({ err: error }, 'an OCSP responder could not be asked')
      })
      .finally(() => asking.delete(one))
    asking.set(one, done)
  }

  return {
    /** Certificates that are in use; others are forgotten. */
    watch,

    /** Begins what is due. */
    refresh() {
      for (const one of watched.values()) {
        if (asking.size >= MAX_ASKING) return
        if (!asking.has(one) && one.dueTime <= clock.now()) begin(one)
      }
    },

    of({ id, chain }: Pick<Stapled, 'id' | 'chain'>): OcspStaple | undefined {
      const found = watched.get(id)
      return found?.chain === chain ? found.staple : undefined
    },

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
