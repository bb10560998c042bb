/** Which requests are recorded, and by what two of them are the same. Pure. */
import { createHmac } from 'node:crypto'

/** Beside method, address and body, an answer may depend on these. */
const RELEVANT = ['accept', 'accept-language', 'range']
/** Their values are secrets. A token may be another one for each build, so there is a key without them too. */
const SECRET = ['authorization', 'cookie', 'x-api-key', 'api-key', 'apikey']
/** Parameters whose values may be secrets. */
const SECRET_PARAMETER = /token|secret|key|pass|auth|sig|jwt|session|credential|preview/i

/** Bytes of the body of a request that are read to find out what it is. */
export const BODY_BYTES = 1024 * 1024

/**
 * Both keys are keyed digests: nothing of a request can be learned from them. `exact` has the credentials of the request, and
 * `loose` has not.
 */
export function keysOf(secret, { method, origin, path, headers, body }) {
  const digest = (value) => createHmac('sha256', secret).update(JSON.stringify(value)).digest('base64url')
  const same = [method, origin, path, RELEVANT.map((name) => headers[name] ?? ''), body === undefined ? '' : `${body}`]
  return { exact: digest([same, SECRET.map((name) => headers[name] ?? '')]), loose: digest(same) }
}

/** Where values are asked for: GET and HEAD, and what GraphQL and GROQ ask by POST. A mutation is passed on, and not recorded. */
export function isRecorded(method, headers, body) {
  if (method === 'GET' || method === 'HEAD') return true
  return method === 'POST' && isJson(headers) && body !== undefined && isQuery(body)
}

export const isJson = (headers) => /^application\/([\w.+-]*\+)?(json|graphql)\b/i.test(headers['content-type'] ?? '')

function isQuery(body) {
  let given
  try {
    given = JSON.parse(body.toString())
  } catch {
    return false
  }
  const all = Array.isArray(given) ? given : [given]
  return (
    all.length > 0 &&
    all.every((one) => {
      if (typeof one?.query === 'string') return !changes(one.query)
      // A persisted query: what it does is known to the server alone, and clients send mutations with their text.
      return one?.query === undefined && typeof one?.extensions?.persistedQuery === 'object'
    })
  )
}

/** Whether a document has an operation that is no query: its words outside of braces, strings and comments tell. */
function changes(query) {
  let depth = 0
  let top = ''
  for (const [token] of query.matchAll(/"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|#[^\n]*|[{}]|\w+|[\s\S]/g)) {
    if (token === '{') depth += 1
    else if (token === '}') depth -= 1
    else if (depth === 0 && !/^["#]/.test(token)) top += token
    if (token === '}') top += ' '
  }
  return /\b(mutation|subscription)\b/.test(top)
}

/** The address for people: without what may be a secret in its query. */
export function shownUrl(origin, path) {
  const [before, query] = splitOnce(path, '?')
  if (query === undefined) return (origin + before).slice(0, 2000)
  const shown = query.split('&').map((pair) => {
    const [name, value] = splitOnce(pair, '=')
    return value !== undefined && SECRET_PARAMETER.test(decoded(name)) ? `${name}=…` : pair
  })
  return `${origin}${before}?${shown.join('&')}`.slice(0, 2000)
}

/** What a query of GraphQL asks for, in one line. */
export function shownBody(body) {
  if (body === undefined) return undefined
  try {
    const given = JSON.parse(body.toString())
    const one = Array.isArray(given) ? given[0] : given
    const text = one?.operationName ?? one?.query?.replaceAll(/\s+/g, ' ').trim()
    return typeof text === 'string' ? text.slice(0, 200) : undefined
  } catch {
    return undefined
  }
}

function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function splitOnce(text, separator) {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}
