/** Faults of the object store, in words that say what to do. None of them contains a key or a signature. */
import { StorageUnavailable } from '../../sql/sql.ts'

/** The store answered with an error, or did not answer. `isPassing`: the same request may succeed a little later. */
export class ObjectStoreFault extends StorageUnavailable {
  readonly status: number | undefined
  readonly code: string
  override readonly isPassing: boolean
  readonly retryAfterMs: number | undefined

  constructor(message: string, { status, code, isPassing, retryAfterMs, cause }: Facts) {
    super(message, { cause })
    this.name = 'ObjectStoreFault'
    this.status = status
    this.code = code
    this.isPassing = isPassing
    this.retryAfterMs = retryAfterMs
  }
}

type Facts = {
  status?: number
  code: string
  isPassing: boolean
  retryAfterMs?: number | undefined
  cause?: unknown
}

/** The bytes under a digest have another one. */
export class ObjectDamaged extends StorageUnavailable {
  constructor(key: string) {
    const more = key.startsWith('blobs/') ? ', or upload the archive again' : ''
    super(
      `The object store has other bytes under ${key} than were stored there. Restore an earlier version of that object${more}.`,
    )
    this.name = 'ObjectDamaged'
  }
}

/** A connection that could not be made or broke, or an answer that did not come. */
export function unanswered(error: unknown, host: string): ObjectStoreFault {
  const code = (error as NodeJS.ErrnoException).code ?? (error as Error).name
  const isCertificate = /CERT|SELF_SIGNED|ERR_TLS/.test(code)
  return new ObjectStoreFault(
    isCertificate
      ? `The certificate of the object store at ${host} is not trusted (${code}). For a certificate authority of your own, set NODE_EXTRA_CA_CERTS.`
      : `The object store at ${host} does not answer (${code}).`,
    { code, isPassing: !isCertificate, cause: error },
  )
}

export type ErrorAnswer = {
  status: number
  /** Empty for HEAD, whose answers have no body. */
  body: string
  date: string | undefined
  retryAfter: string | undefined
}

const PASSING_STATUSES = [408, 409, 425, 429, 500, 502, 503, 504]
const PASSING_CODES = ['SlowDown', 'InternalError', 'RequestTimeout', 'ServiceUnavailable', 'OperationAborted']
const CREDENTIAL_CODES = ['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'AccessDenied', 'InvalidSecurity', 'Forbidden']
const REGION_CODES = ['AuthorizationHeaderMalformed', 'PermanentRedirect', 'IllegalLocationConstraintException']

export function faultOf({ status, body, date, retryAfter }: ErrorAnswer, bucket: string): ObjectStoreFault {
  const code =
    textOf(body, 'Code') ?? (status === 403 ? 'Forbidden' : status === 301 ? 'PermanentRedirect' : `${status}`)
  return new ObjectStoreFault(wordsFor(code, { status, body, date, bucket }), {
    status,
    code,
    isPassing: PASSING_STATUSES.includes(status) || PASSING_CODES.includes(code),
    retryAfterMs: millisecondsUntil(retryAfter),
  })
}

type Refusal = { status: number; body: string; date: string | undefined; bucket: string }

function wordsFor(code: string, { status, body, date, bucket }: Refusal): string {
  if (code === 'RequestTimeTooSkewed') {
    const seconds = Math.round(Math.abs(Date.now() - Date.parse(date ?? '')) / 1000)
    const by = Number.isNaN(seconds) ? '' : ` by ${seconds.toLocaleString('en')} seconds`
    return `The clocks of this machine and of the object store differ${by} (${code}). Set the clock of this machine, for example by NTP.`
  }
  if (CREDENTIAL_CODES.includes(code))
    return `The object store refuses the credentials (${code}). Check objectStoreKeyId and objectStoreSecret, and that the key may read, write, list and delete in the bucket ${bucket}.`
  if (code === 'NoSuchBucket') return `The object store has no bucket ${bucket}. Create it, or correct objectStore.`
  if (REGION_CODES.includes(code)) {
    const region = textOf(body, 'Region')
    return `The bucket ${bucket} is in another region (${code}). Set objectStoreRegion${region ? ` to ${region}` : ''}, and objectStoreEndpoint to the address of that region.`
  }
  return `The object store answers with ${status} (${code}).`
}

/** The text of the first element of that name. */
export function textOf(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return found === undefined ? undefined : unescaped(found)
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const unescaped = (text: string): string =>
  text.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal))
  })

/** `Retry-After` is a number of seconds or a date. */
function millisecondsUntil(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
