'use strict'
// Whether the app fetches everything again for each answer. A value that it keeps (in a Map, in a cache of its framework, as a
// promise that two requests wait for) is in pages that did not fetch it, and may be older than the purge that came before. That
// cannot be seen in one answer. So it is tried: when something is fetched for the first time, the same page is asked for twice
// more at the same time, within the process, and both must fetch what the first one did. Until then no answer is kept. The app gets
// both requests in the same turn of the event loop, so the second one finds what the first one has begun to fetch.
//
// URLs that differ only in what the page is about (its slug, numbers, ids) are one shape, and one proof is enough for all pages
// that differ only in the same way. Other pages are made by other code, which may keep what this code does not.
const { createHash, randomUUID } = require('node:crypto')
const http = require('node:http')
const { say } = require('./carefully.cjs')
const { current, reasonOutside } = require('./outside.cjs')

const FIELD = 'x-headland-content-probe'
const MAX_PROVEN = 10_000
const MAX_OPEN = 1000
const MAX_KNOWN = 1000
/** Many at once after a start, or while a scanner asks for addresses. One that is left out may never be asked for again. */
const MAX_WAITING = 500
/** Longer shapes are remembered by a hash, since visitors choose their length. */
const MAX_LENGTH = 1000
const TIMEOUT_MS = 30_000
/** A visit that ended longer ago proves nothing: what the app has kept since may be gone. */
const RECENT_MS = 500
/** A probe is followed by a pause of so many times its length. */
const PAUSE = 4
const SECRET_LENGTH = 8
const TOKEN_LENGTH = 3
/** Values of a query that are looked for: a visitor may send thousands. */
const MAX_VALUES = 20
const NOT_REPEATED =
  /^(?:cookie|authorization|connection|keep-alive|content-length|transfer-encoding|expect|upgrade|range|if-.*|x-headland-content-probe)$/i

const proven = new Set()
/** Shapes that were worked out, by page and URL. */
const shapes = new Map()
let knownShapes = 0
/** Shapes without a proof. While there are any, each answer may contain one of their values. */
const unproven = new Set()
/** Visits that may prove them. */
const waiting = []
/** Probes that are under way, by their token. */
const probes = new Map()
const ownRequests = new WeakSet()
let isProbing = false
let isKeeping = false
let areTooMany = false

/** Notes that something has come back. */
function see(exchange) {
  const { visit } = exchange
  if (exchange.isPersonal || (!isSafe(exchange.method) && !isSafe(visit.method))) return
  const shape = shapeOf(exchange)
  exchange.shape = shape
  if (proven.has(shape) || isKeeping) return
  if (unproven.size < MAX_OPEN) unproven.add(shape)
  else areTooMany = true
}

const isSafe = (method) => method === 'GET' || method === 'HEAD'

function shapeOf({ visit, key, sent }) {
  const known = sent === undefined ? shapes.get(visit.url)?.get(key) : undefined
  if (known !== undefined) return known
  let text = key
  visit.tokens ??= tokensOf(visit.url)
  for (const token of visit.tokens) text = text.replaceAll(token, '*')
  const page = visit.url.split('?', 1)[0].replace(/[^/]+\/?$/, '*')
  const whole = `${page}\n${text}`.replace(WORD, withoutId).replace(/0(?:(?:,|%2C)0)+/gi, '0')
  const shape = whole.length > MAX_LENGTH ? createHash('sha256').update(whole).digest('hex') : whole
  if (sent === undefined && visit.url.length + key.length <= MAX_LENGTH) know(visit.url, key, shape)
  return shape
}

function know(address, key, shape) {
  if (knownShapes++ >= MAX_KNOWN) {
    shapes.clear()
    knownShapes = 1
  }
  const ofPage = shapes.get(address)
  if (ofPage) ofPage.set(key, shape)
  else shapes.set(address, new Map([[key, shape]]))
}

const WORD = /[\w~-]+/g
const withoutId = (word) => (/\d/.test(word) ? '0' : word)

/** What a page is about: the last part of its path, and the values of its query. */
function tokensOf(address) {
  const [path = '', query = ''] = address.split('?', 2)
  const last = path.split('/').findLast((part) => part !== '') ?? ''
  const asked = [...new URLSearchParams(query).values()].slice(0, MAX_VALUES)
  const values = [last.replace(/\.(?:html|json)$/, ''), ...asked]
  return values.flatMap((value) => [value, decoded(value), encodeURIComponent(value)]).filter(isToken)
}

const isToken = (text, at, all) => text.length >= TOKEN_LENGTH && all.indexOf(text) === at

function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Whether a request carries something that belongs to the visitor: what comes back is for that visitor alone. */
function isPersonal(req, text) {
  const cookies = String(req.headers.cookie ?? '').split(';')
  const secrets = [...cookies.map((pair) => pair.slice(pair.indexOf('=') + 1).trim()), req.headers.authorization ?? '']
  return secrets.some(
    (secret) => secret.length >= SECRET_LENGTH && (text.includes(secret) || text.includes(decoded(secret))),
  )
}

/** An answer is complete, with this status. */
function ended(visit, status) {
  if (visit.isProbe) {
    visit.probe.counts = countsOf(visit)
    visit.probe.status = status
    return
  }
  if (
    unproven.size === 0 ||
    visit.method !== 'GET' ||
    isKeeping ||
    reasonOutside() !== undefined ||
    waiting.length >= MAX_WAITING
  )
    return
  const isOfUse = ({ shape }) => unproven.has(shape) && !waiting.some(({ counts }) => counts.has(shape))
  if (!visit.exchanges.some(isOfUse) || visit.exchanges.some(({ isFailed }) => isFailed)) return
  const { localAddress, localPort } = visit.req.socket
  if (localAddress === undefined || localPort === undefined) return
  const { rawHeaders } = visit.req
  const headers = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && !NOT_REPEATED.test(name) ? [name, rawHeaders[at + 1]] : [],
  )
  waiting.push({
    ...{ host: localAddress, port: localPort, path: visit.url, headers, status },
    ...{ counts: countsOf(visit), isAnonymous: visit.isAnonymous, time: performance.now() },
  })
  current.run(undefined, probeNext)
}

/** How often each shape was fetched completely. */
function countsOf({ exchanges }) {
  const counts = new Map()
  for (const { shape, isEnded, isFailed } of exchanges)
    if (shape !== undefined && isEnded && !isFailed) counts.set(shape, (counts.get(shape) ?? 0) + 1)
  return counts
}

async function probeNext() {
  if (isProbing) return
  let page = waiting.shift()
  while (page !== undefined && ![...page.counts.keys()].some((shape) => unproven.has(shape))) page = waiting.shift()
  if (page === undefined) return
  isProbing = true
  const start = performance.now()
  try {
    if (start - page.time > RECENT_MS) await ask(page)
    const gate = createGate(2)
    judge(page, await Promise.all([ask(page, gate), ask(page, gate)]))
  } catch {
    // Another visit tries it again.
  }
  setTimeout(
    () => {
      isProbing = false
      if (!isKeeping) probeNext()
    },
    (performance.now() - start) * PAUSE,
  ).unref()
}

/** Lets so many begin together. */
function createGate(count) {
  const held = []
  const open = () => {
    for (const begin of held.splice(0)) begin()
  }
  return {
    enter(begin) {
      held.push(begin)
      if (held.length === count) open()
    },
    open,
  }
}

/** Asks for a page, and resolves with what was fetched for it. */
function ask({ host, port, path, headers }, gate = createGate(1)) {
  return new Promise((resolve, reject) => {
    const token = randomUUID()
    const probe = { counts: undefined, status: 0, enter: gate.enter }
    probes.set(token, probe)
    const options = { host, port, path, headers: [...headers, FIELD, token, 'Connection', 'close'], agent: false }
    const request = http.request({ ...options, signal: AbortSignal.timeout(TIMEOUT_MS) }, (answer) => {
      answer.on('end', () => {
        // It is still there if another process of a cluster has answered. Then the other one waits for nothing.
        probes.delete(token)
        gate.open()
        resolve(probe)
      })
      answer.on('error', failed)
      answer.resume()
    })
    function failed(error) {
      probes.delete(token)
      gate.open()
      reject(error)
    }
    request.on('error', failed)
    ownRequests.add(request)
    request.end()
  })
}

function judge({ counts, status, isAnonymous }, answers) {
  if (answers.some((answer) => answer.counts === undefined || answer.status !== status)) return
  const isRepeated = answers.every((answer) =>
    [...counts].every(([shape, count]) => (answer.counts.get(shape) ?? 0) >= count),
  )
  if (isRepeated) for (const shape of counts.keys()) prove(shape)
  else if (isAnonymous) {
    isKeeping = true
    say('the app keeps content itself, so the edge does not keep its pages by what they are made of')
  }
}

function prove(shape) {
  unproven.delete(shape)
  proven.add(shape)
  if (proven.size > MAX_PROVEN) proven.delete(proven.values().next().value)
}

/** The probe that this request is, if it is one. The app does not see its field. */
function probeOf(req) {
  const token = req.headers[FIELD]
  const probe = token === undefined ? undefined : probes.get(token)
  if (probe === undefined) return undefined
  probes.delete(token)
  delete req.headers[FIELD]
  const at = req.rawHeaders.indexOf(FIELD)
  if (at >= 0) req.rawHeaders.splice(at, 2)
  return probe
}

/** @returns {string | undefined} */
function doubt() {
  if (isKeeping) return 'app-keeps'
  return unproven.size > 0 || areTooMany ? 'checking' : undefined
}

module.exports = { see, isPersonal, ended, probeOf, doubt, isOwnRequest: (request) => ownRequests.has(request) }
