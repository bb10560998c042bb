// The one comment under a pull or merge request, found again by a marker that readers do not see.

const MAX_PAGES = 20
const PAGE_SIZE = 100
const TIMEOUT_MS = 30_000
const MAX_TEXT = 2_000

/** Changes the comment with the marker, or writes one. Someone else may have copied the marker: that comment is left alone. */
export async function writeComment(api, marker, text) {
  for (const id of await idsWith(api, marker)) {
    const changed = await send(api.changeOf(id, text))
    if (changed.ok) return
    if (changed.status !== 403 && changed.status !== 404) throw await failureOf(changed)
  }
  const made = await send(api.create(text))
  if (!made.ok) throw await failureOf(made)
}

async function idsWith(api, marker) {
  const ids = []
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer = await send(api.list(page, PAGE_SIZE))
    if (!answer.ok) throw await failureOf(answer)
    const comments = await answer.json()
    // In the first line only: who quotes the comment does not get it changed.
    ids.push(...comments.filter(({ body }) => String(body).startsWith(marker)).map(({ id }) => id))
    if (comments.length < PAGE_SIZE) break
  }
  return ids
}

const send = ({ url, method, headers, body }) =>
  fetch(url, {
    method,
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })

async function failureOf(answer) {
  const text = (await answer.text()).slice(0, 300)
  return new Error(`HTTP ${answer.status} ${text}`)
}

export function commentText({ marker, preview, app, url, reason, message, commit, logUrl }) {
  const name = [app, preview].filter(Boolean).map(codeOf).join(' ')
  const log = logUrl ? ` ([log](${logUrl}))` : ''
  const of = commit ? ` of ${commit.slice(0, 8)}` : ''
  const said = url
    ? `The preview ${name}${of} is live: ${url}${log}`
    : `The preview ${name}${of} was not deployed${log}.\n\n${blockOf([reason, message].filter(Boolean).join(': '))}`
  return `${marker}\n**Headland**\n\n${said}\n`
}

/** Text that is not read as Markdown, whatever it holds. */
const codeOf = (text) => fenced(text.replace(/\s+/g, ' '), 1, (fence, shown) => `${fence} ${shown} ${fence}`)
const blockOf = (text) => fenced(text.slice(0, MAX_TEXT), 3, (fence, shown) => `${fence}text\n${shown}\n${fence}`)

function fenced(text, min, write) {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  return write('`'.repeat(Math.max(min, longest + 1)), text)
}
