/** Fonts that Next.js fetches from Google during the build: webpack reports a clear error, Turbopack a missing module. */
import { hostOf } from './hosts.ts'
import { type Line, RUNNING_CODE, type Rule, search } from './rule.ts'

const STYLESHEET_HOST = 'fonts.googleapis.com'
const FILE_HOST = 'fonts.gstatic.com'

const FONT = /Failed to fetch `?([\w +-]{1,60})`? from Google Fonts/
/** The message of Turbopack where the stylesheet was fetched and a font file was not. */
const FONT_FILE = /Module not found: (?:Error: )?Can't resolve '@vercel\/turbopack-next\/internal\/font\/google\//
const MODULE_OF_FONT = /^\[next\]\/internal\/font\/google\/([a-z][a-z0-9_]{0,60})_[0-9a-f]{8}\.module\.css/

const REQUESTS: readonly [pattern: RegExp, why: string][] = [
  [/There was an issue establishing a connection while requesting (https?:[^ ]{1,300})/, 'the connection failed'],
  [/Connection timed out when requesting (https?:[^ ]{1,300})/, 'it did not answer in time'],
  [/Received response with status \d{3} when requesting (https?:[^ ]{1,300})/, 'it answered with an error'],
  [/There was an issue requesting (https?:[^ ]{1,300})/, 'the request failed'],
  [/request to (https?:[^ ]{1,300}) failed/, 'the connection failed'],
  [/getaddrinfo (?:ENOTFOUND|EAI_AGAIN) (fonts\.[a-z]{1,20}\.com)/, 'its name is not known'],
]

export const fontUnreachable: Rule = {
  phases: RUNNING_CODE,
  find({ lines }) {
    const hits = search(lines, FONT, FONT_FILE)
    const last = hits.at(-1)
    if (!last) return undefined
    const [stylesheet] = search(lines, FONT)
    const request = requestIn(lines)
    const host = request?.host ?? (stylesheet ? STYLESHEET_HOST : FILE_HOST)
    const name = stylesheet?.match[1] ?? nameOf(lines)
    const what = `${name ? `The font ${name}` : 'A font'} could not be fetched from ${host} (Google Fonts)`
    return {
      reason: 'DOWNLOAD_FAILED',
      message: `${what}${request ? `: ${request.why}` : ''}. ${ADVICE}`,
      at: stylesheet?.index ?? request?.index ?? last.index,
      lastAt: last.index,
      metadata: { host },
    }
  },
}

const ADVICE =
  'Try again later. With next/font/local the font comes with the app, and the build needs no network for it. If builds here may not reach that host, ask the operator about the setting allowedNetworks.'

/** `geist_mono` is `geist mono`. */
const nameOf = (lines: readonly Line[]): string | undefined =>
  search(lines, MODULE_OF_FONT)[0]?.match[1]?.replaceAll('_', ' ')

/** The last failed request for a font in the log. */
function requestIn(lines: readonly Line[]): { host: string; why: string; index: number } | undefined {
  for (const [pattern, why] of REQUESTS) {
    const hit = search(lines, pattern).at(-1)
    const address = hit?.match[1] ?? ''
    const host = address.startsWith('http') ? hostOf(address) : address
    if (hit && (host === STYLESHEET_HOST || host === FILE_HOST)) return { host, why, index: hit.index }
  }
  return undefined
}
