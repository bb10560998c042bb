/** The edge's own pages: plain, without a script, and without information about what else is hosted here. */
import { STATUS_CODES } from 'node:http'
import type { ErrorIds } from './counted-response.ts'
import type { ReadResponse } from './visit.ts'

export type Page = {
  status: number
  title: string
  text: string
  /** Seconds after which a client may try again. */
  retryAfter?: number
}

export const PAGES = {
  badRequest: { status: 400, title: 'Bad request', text: 'The request could not be understood.' },
  unknownHost: { status: 404, title: 'Not found', text: 'There is no site at this address.' },
  nothingDeployed: {
    status: 404,
    title: 'Nothing deployed yet',
    text: 'This environment is ready. Upload an archive, and its site appears here.',
  },
  locked: {
    status: 401,
    title: 'Password required',
    text: 'This site is not open to everyone. Programs send its password by HTTP Basic authentication.',
  },
  otherAddress: {
    status: 403,
    title: 'Not open to you',
    text: 'This site can be seen from some addresses only, and yours is not one of them.',
  },
  otherSite: { status: 403, title: 'Not accepted', text: 'The form was sent by another site. Open this site itself.' },
  tooSlow: { status: 408, title: 'Too slow', text: 'The form took too long to arrive. Please try again.' },
  tooLarge: { status: 413, title: 'Too large', text: 'The form is larger than it should be.' },
  tooManyAttempts: {
    status: 429,
    title: 'Too many attempts',
    text: 'Too many wrong passwords were sent. Please try again later.',
  },
  notFound: { status: 404, title: 'Not found', text: 'There is no page at this address.' },
  wrongMethod: { status: 405, title: 'Method not allowed', text: 'This address can only be read.' },
  fault: { status: 500, title: 'Something went wrong', text: 'Please try again.' },
  unreadable: {
    status: 500,
    title: 'Site not readable',
    text: 'The list of this site’s files is damaged. The owner can repair it by deploying the site again.',
  },
  notAllowed: {
    status: 502,
    title: 'Not allowed',
    text: 'This address leads to another host, which the operator of this service does not allow.',
  },
  circle: { status: 508, title: 'Loop detected', text: 'This address leads back to itself.' },
  badGateway: { status: 502, title: 'No valid answer', text: 'The application did not give a valid answer.' },
  busy: { status: 503, title: 'Too busy', text: 'Too many requests are waiting. Please try again in a moment.' },
  restarting: { status: 503, title: 'Restarting', text: 'Headland is being restarted. Please try again in a moment.' },
  notSecure: {
    status: 503,
    title: 'Not ready yet',
    text: 'The certificate for this address is being obtained. Please try again in a few minutes.',
  },
  down: { status: 503, title: 'Not available', text: 'The application is not running at the moment.' },
  filesMissing: {
    status: 503,
    title: 'Not available',
    text: 'The files of this site could not be brought here yet. Please try again in a moment.',
    retryAfter: 5,
  },
  notStored: { status: 504, title: 'Not stored', text: 'Only a stored copy was asked for, and there is none.' },
  loop: {
    status: 508,
    title: 'Loop detected',
    text: 'Requests wait for each other: to answer one, an application requests its own address, or that of a site which requests it, again and again.',
  },
  late: { status: 504, title: 'No answer in time', text: 'The application did not answer in time.' },
} as const satisfies Record<string, Page>

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'x-content-type-options': 'nosniff',
}

export function sendPage(response: ReadResponse & Partial<ErrorIds>, page: Page, headers: Record<string, string> = {}) {
  // Once a response has begun, only aborting it shows the client that it is incomplete.
  if (response.headersSent) return void response.destroy()
  const id = page.status >= 500 ? response.errorId?.() : undefined
  const body = render(page, id)
  // The reason is given explicitly, because one from the upstream may have been set before and would stay.
  response.writeHead(page.status, STATUS_CODES[page.status], {
    ...HEADERS,
    'content-length': Buffer.byteLength(body),
    ...retryAfterOf(page),
    ...headers,
  })
  response.end(body)
}

export type RawOptions = {
  headers?: Record<string, string>
  /** Gets and returns a list `[name, value, …]`. */
  changeHeaders?: ((headers: readonly string[]) => string[]) | undefined
}

/** The page as bytes, for a connection without a response object: one that requested an upgrade. */
export function rawPage(page: Page, { headers = {}, changeHeaders }: RawOptions = {}): string {
  const body = render(page)
  const length = { 'content-length': Buffer.byteLength(body) }
  const all = { ...HEADERS, ...length, connection: 'close', ...retryAfterOf(page), ...headers }
  const list = Object.entries(all).flatMap(([name, value]) => [name, String(value)])
  const sent = changeHeaders ? changeHeaders(list) : list
  let lines = ''
  for (let at = 0; at < sent.length; at += 2) lines += `${sent[at]}: ${sent[at + 1]}\r\n`
  return `HTTP/1.1 ${page.status} ${STATUS_CODES[page.status]}\r\n${lines}\r\n${body}`
}

const retryAfterOf = ({ retryAfter }: Page): Record<string, string> =>
  retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }

/** `id` lets the owner of the site find the request in its log. */
const render = ({ title, text }: Page, id?: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto 0; padding: 0 1.5rem }
h1 { font-size: 1.5rem; margin: 0 0 .5rem }
p { margin: 0; opacity: .75 }
</style>
</head>
<body>
<h1>${title}</h1>
<p>${text}</p>${id === undefined ? '' : `\n<p><small>Request id: ${id}</small></p>`}
</body>
</html>
`
