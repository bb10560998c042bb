/** The page that asks for the password of an environment. It has one form, and no script or other resource. */
import { hash } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'

/** Where the form is sent. The app of a protected environment never gets a request for it. */
export const UNLOCK_PATH = '/.headland/unlock'

export type Form = {
  /** The host name that the visitor has asked for. */
  host: string
  /** Where the visitor is sent with the right password: a path of the same host. */
  to: string
  /** What was wrong with the last attempt. */
  fault?: string
  status?: 401 | 413 | 429
  headers?: Record<string, string>
}

export function sendForm(response: ServerResponse, { host, to, fault, status = 401, headers = {} }: Form) {
  const body = render(host, to, fault)
  response.writeHead(status, STATUS_CODES[status], {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': POLICY,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'content-length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(body)
}

const STYLE = `
:root { color-scheme: light dark; --back: #f4f6f8; --card: #fff; --line: #d5dbe1; --edge: #7f8b97; --ink: #17202a; --soft: #56636f; --accent: #0a6378; --on: #fff; --bad: #b3261e }
@media (prefers-color-scheme: dark) { :root { --back: #0f1419; --card: #182028; --line: #303b45; --edge: #75828f; --ink: #e8edf2; --soft: #a3afbb; --accent: #6cc5dc; --on: #04222b; --bad: #ff9d94 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; min-height: 100svh; display: grid; place-items: center; padding: 1.5rem; background: var(--back); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 24rem; padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: .875rem; box-shadow: 0 1px 2px rgb(0 0 0 / .05), 0 12px 32px -16px rgb(0 0 0 / .25) }
svg { display: block; width: 2rem; height: 2rem; color: var(--accent) }
h1 { margin: 1rem 0 .25rem; font-size: 1.25rem; line-height: 1.3 }
p { margin: 0; color: var(--soft); overflow-wrap: anywhere }
form { margin-top: 1.5rem; display: grid; gap: .5rem }
label { font-weight: 600 }
input, button { width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: .5rem; font: inherit; color: inherit; background: var(--back) }
input[aria-invalid] { border-color: var(--bad) }
button { margin-top: .5rem; border-color: transparent; background: var(--accent); color: var(--on); font-weight: 600; cursor: pointer }
button:hover { filter: brightness(1.08) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
[role=alert] { color: var(--bad); font-size: .9375rem }
`

/** Without `form-action`, which some browsers apply to later redirects too: the site may well send its visitors elsewhere. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

function render(host: string, to: string, fault: string | undefined): string {
  const invalid = fault === undefined ? '' : ' aria-invalid="true" aria-describedby="fault"'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Password required</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><rect x="4.5" y="10.5" width="15" height="10" rx="2.5"/><path d="M8 10.5V7.5a4 4 0 0 1 8 0v3M12 14.5v2"/></svg>
<h1>Password required</h1>
<p>${escapeHtml(host)} is not open to everyone. Enter its password to continue.</p>
<form method="post" action="${UNLOCK_PATH}">
<input type="hidden" name="to" value="${escapeHtml(to)}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus${invalid}>
${fault === undefined ? '' : `<p id="fault" role="alert">${escapeHtml(fault)}</p>\n`}<button>Continue</button>
</form>
</main>
</body>
</html>
`
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] as string)
