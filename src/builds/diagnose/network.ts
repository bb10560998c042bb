/** Hosts that could not be reached: the registry, a download, or the CMS, which the variables name. */
import { type HostKind, hostOf, hostsIn, isAddress, isAmong, isLocal, kindOf, nameBehind } from './hosts.ts'
import { type Evidence, type Finding, type Line, RUNNING_CODE, type Rule } from './rule.ts'

/** A host that could not be reached. It is empty where the log does not name it. */
export type Unreached = { index: number; host: string; kind: HostKind; why: string }

/** Node writes no more in its first line, and the cause a few lines below. */
const FETCH_FAILED = 'the connection failed'
const CAUSE_LINES = 8

/** Messages that name the host or the address, unless it is the value of a variable and was hidden. */
const NAMED: readonly [pattern: RegExp, why: string][] = [
  [/getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([\w.-]{1,253}|(?=\[secret\]))/, 'its name is not known'],
  [/connect ECONNREFUSED ([\w.:[\]-]{1,80})/, 'it refused the connection'],
  [/connect (?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH) ([\w.:[\]-]{1,80})/, 'it did not answer'],
  [/Connect Timeout Error \(attempted address(?:es)?: ([^,)\s]{1,253})/, 'it did not answer in time'],
  [/\bcurl: \(6\) Could not resolve host: ([\w.-]{1,253}|(?=\[secret\]))/, 'its name is not known'],
  [/\bcurl: \(\d{1,2}\) Failed to connect to ([\w.:[\]-]{1,80}) port/, 'it refused the connection'],
  [/altnames: Host: ([\w.-]{1,253}?)\.? is not/, 'its certificate is for another name'],
]
/** Messages without the host, which may be elsewhere in the log. */
const UNNAMED: readonly [pattern: RegExp, why: string][] = [
  [
    /\bself-signed certificate|unable to (?:verify the first|get local issuer) certificate/,
    'its certificate is not trusted',
  ],
  [/certificate has expired/, 'its certificate has expired'],
  [/\bfetch failed\b/, FETCH_FAILED],
  [/\bAggregateError \[(?:ECONNREFUSED|ETIMEDOUT|ENETUNREACH)\]/, 'it refused the connection'],
  [/\bHeaders Timeout Error|\bBody Timeout Error|\bUND_ERR_\w{1,20}_TIMEOUT/, 'it did not answer in time'],
  [/\bsocket hang up|\bECONNRESET\b|\bother side closed|\bETIMEDOUT\b/, 'the connection broke'],
  [/\b(?:ConnectionRefused|DNSResolveFailed|ConnectionClosed|FailedToOpenSocket) downloading/, 'the connection failed'],
]
const ANSWERED = 'it answered'
/** Server errors as clients report them; a number alone does not count. */
const SERVER_ERROR = [
  /\bstatus(?: code)?:? {0,2}(5\d\d)\b/i,
  /\b(5\d\d) (?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)/i,
  /\bError \(Code: (5\d\d)\)/,
  /\bResponse Code: (5\d\d)\b/,
  /\bERR_PNPM_FETCH_(5\d\d)\b/,
  /\bnpm (?:error|ERR!) (5\d\d) /,
  /^error: GET [^ ]{1,300} - (5\d\d)\b/,
  /\b(?:fetch|request)[^\d]{1,80}\b(5\d\d)(?![\d:.])/i,
]
/** A table of statuses in a printed object, or a stack frame with its numbers. */
const NOT_A_FAILURE = /^\s{0,40}(?:'\d{3}':|at )/
const FIELD = /\b(?:hostname|host|address|url|baseURL|uri|Request URL)['"]?: {0,2}['"]?([^\s'",]{3,300})/
const FIELD_LINES = 60
const ADDRESS_LINES = 8
/** An app that requests data for each of its pages fails for each of them. */
const MAX_FAILURES = 200

/** The mark of a hidden value where a URL or a host was. */
const HIDDEN_ADDRESS = /(?:^|[\s'"`(=])\[secret\](?=$|[\s'"`),:/?])/

/** All hosts that the log reports as unreachable, including telemetry. */
export function unreachableIn({ lines, phase, cmsHosts, names }: Evidence): Unreached[] {
  const failures = lines.flatMap(({ text }, index) => {
    const hit = failureIn(text)
    return hit ? [{ ...hit, index }] : []
  })
  const exact = failures.filter(({ why, index }, nth) => {
    const next = failures[nth + 1]
    return why !== FETCH_FAILED || next === undefined || next.index - index > CAUSE_LINES
  })
  return exact.slice(-MAX_FAILURES).map(({ index, why, host: named }) => {
    const isHidden = HIDDEN_ADDRESS.test(lines[index]?.text ?? '')
    const host = nameBehind(named || (isHidden ? '' : hostNear(lines, index)), names)
    return { index, host, why, kind: kindIn(host, isHidden) }
  })

  function kindIn(host: string, isHidden: boolean): HostKind {
    const kind = kindOf(host)
    if (phase === 'INSTALLING') return kind === 'other' ? 'registry' : kind
    if (isAmong(host, cmsHosts)) return 'cms'
    if (isHidden && (host === '' || isAddress(host))) return 'cms'
    // An app whose variables name a host usually requests that one.
    return host === '' && cmsHosts.length > 0 ? 'cms' : kind
  }
}

function failureIn(text: string): { host: string; why: string } | undefined {
  for (const [pattern, why] of NAMED) {
    const host = pattern.exec(text)?.[1]
    if (host !== undefined) return { host, why }
  }
  for (const [pattern, why] of UNNAMED) if (pattern.test(text)) return { host: hostsIn(text)[0] ?? '', why }
  if (NOT_A_FAILURE.test(text)) return undefined
  for (const pattern of SERVER_ERROR) {
    const status = pattern.exec(text)?.[1]
    if (status) return { host: hostsIn(text)[0] ?? '', why: `${ANSWERED} ${status}` }
  }
  return undefined
}

/** Node prints the fields of an error below its message, and the code that fetches is often nearby. */
function hostNear(lines: readonly Line[], index: number): string {
  for (const { text } of lines.slice(index, index + FIELD_LINES)) {
    const value = FIELD.exec(text)?.[1]
    const host = value === undefined ? '' : value.startsWith('http') ? hostOf(value) : hostLike(value)
    if (host) return host
  }
  const near = lines.slice(Math.max(0, index - ADDRESS_LINES), index + ADDRESS_LINES)
  return near.flatMap(({ text }) => hostsIn(text))[0] ?? ''
}

const hostLike = (value: string): string =>
  /^[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?::\d{1,5})?$/.test(value) ? value : ''

/** During an install an unreachable host is the registry: install scripts are handled by an earlier rule. */
export const registryUnreachable: Rule = {
  phases: ['INSTALLING'],
  find(evidence) {
    const unreached = unreachableIn(evidence).filter(({ kind }) => kind !== 'telemetry')
    const named = unreached.find(({ host }) => host) ?? unreached[0]
    return named && toFinding(named, unreached)
  },
}

export const serviceUnreachable: Rule = {
  phases: RUNNING_CODE,
  find(evidence: Evidence) {
    const unreached = unreachableIn(evidence).filter(({ kind }) => kind !== 'telemetry')
    const named = unreached.find(({ host }) => host) ?? unreached[0]
    return named && toFinding(named, unreached)
  },
}

function toFinding({ host, kind, why, index }: Unreached, all: readonly Unreached[]): Finding {
  const place = { at: index, lastAt: all.at(-1)?.index ?? index, metadata: host ? { host } : {} }
  const name = host || 'A service that the app asks'
  const failed = why.startsWith(ANSWERED) ? `failed: ${why}` : `could not be reached: ${why}`
  if (kind === 'registry') {
    const who = host ? `The registry ${host}` : 'The registry'
    return {
      reason: 'REGISTRY_UNREACHABLE',
      message: `${who} ${failed}. Try again later; if it goes on, check the registry in .npmrc and the network of the build machine.`,
      ...place,
    }
  }
  if (kind === 'cms')
    return { reason: 'CMS_UNREACHABLE', message: `${name} ${failed}. ${adviceOn(host, why)}`, ...place }
  if (isLocal(host)) return { reason: 'DOWNLOAD_FAILED', message: `${name} ${failed}. ${LOCAL}`, ...place }
  const message =
    kind === 'download'
      ? `A file could not be fetched from ${name}: ${why}. Try again later, or ship the file with the app.`
      : `${name} ${failed}. No shell variable names it. Try again later, or ship with the app what comes from there; if the app is meant to ask it, put its address into a shell variable.`
  return { reason: 'DOWNLOAD_FAILED', message, ...place }
}

const LOCAL =
  'That address is the build machine itself and not yours: give the app the public address of the CMS in a shell variable.'

function adviceOn(host: string, why: string): string {
  if (isLocal(host)) return LOCAL
  if (why.startsWith(ANSWERED))
    return 'Look into the log of the CMS: asked for many pages at once, it may be overloaded.'
  if (why.includes('certificate')) return 'Give the CMS a valid certificate with its whole chain.'
  return 'Check that the CMS is up and that its address in the shell variables is right, then rebuild.'
}
