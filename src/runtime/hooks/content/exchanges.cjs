'use strict'
// An exchange is one request of the app to another server, with a copy of what came back. undici (with it `fetch`) and `http`
// tell of their requests by diagnostics channels, whatever library calls them and whichever copy of undici an app has.
const diagnostics = require('node:diagnostics_channel')
const http = require('node:http')
const bodies = require('./bodies.cjs')
const { carefully } = require('./carefully.cjs')
const { current, noteOutside } = require('./outside.cjs')
const proofs = require('./proofs.cjs')
const { fieldOf, isReport } = require('./tags.cjs')

const MEDIA = /^(?:image|video|audio|font)\//
const EXCHANGE = Symbol('headland exchange')
const SENT = Symbol('headland sent')
/**
 * No content comes back: reports of errors and figures to their collectors (Sentry, OpenTelemetry), and calls of the service's own
 * files to its API.
 */
const NO_CONTENT =
  /\/api\/\d+\/(?:envelope|store)\/(?:\?|$)|\/v1\/(?:traces|metrics|logs)$|\/envs\/[^/]+\/(?:edge\/cache\/tags:purge|revalidations)$/

function watchExchanges() {
  watchFetch()
  watchUndici()
  watchHttp()
}

function watchFetch() {
  const { fetch } = globalThis
  if (typeof fetch !== 'function') return
  const watched = function (input, init) {
    carefully(noteCall, input)
    return fetch.call(this, input, init)
  }
  Object.defineProperty(watched, 'name', { value: 'fetch' })
  globalThis.fetch = watched
}

/** Only to compare: which URLs a visit asked for, and which it was seen to ask for. */
function noteCall(input) {
  const visit = current.getStore()
  if (visit === undefined || visit.isEnding) return
  const url = typeof input === 'string' ? input : (input?.url ?? String(input))
  if (!/^https?:/i.test(url)) return
  visit.calls ??= []
  visit.calls.push(url)
}

function watchUndici() {
  const seen = new WeakSet()
  const on = (name, act) => diagnostics.subscribe(`undici:request:${name}`, (message) => carefully(act, message))
  on('create', ({ request }) => {
    const type = Object.getPrototypeOf(request)
    if (!seen.has(type)) {
      seen.add(type)
      observeBodies(type)
    }
    if (request.method === 'CONNECT') return
    const url = `${request.origin?.origin ?? request.origin}${request.path}`
    request[EXCHANGE] = open(request, url, sentByUndici)
  })
  on('headers', ({ request, response }) => {
    const exchange = request[EXCHANGE]
    if (exchange === undefined || response.statusCode < 200) return
    begin(exchange, response.statusCode, response.headers)
  })
  on('trailers', ({ request }) => {
    close(request[EXCHANGE])
    request[EXCHANGE] = undefined
  })
  on('error', ({ request }) => fail(request[EXCHANGE]))
}

/** Its own channel for pieces of bodies exists in newer versions only. */
function observeBodies(type) {
  const { onData, onResponseData } = type
  if (typeof onData === 'function')
    type.onData = function onDataWatched(chunk) {
      carefully(take, this[EXCHANGE], chunk)
      return onData.call(this, chunk)
    }
  if (typeof onResponseData === 'function')
    type.onResponseData = function onResponseDataWatched(controller, chunk) {
      carefully(take, this[EXCHANGE], chunk)
      return onResponseData.call(this, controller, chunk)
    }
  const { onBodySent } = type
  if (typeof onBodySent !== 'function') return
  type.onBodySent = function onBodySentWatched(chunk) {
    if (this[EXCHANGE] !== undefined) carefully(bodies.noteSent, this[EXCHANGE], chunk)
    return onBodySent.call(this, chunk)
  }
}

function watchHttp() {
  const { write, end } = http.ClientRequest.prototype
  const noting = (original) =>
    function noteAndSend(...given) {
      if (this.method !== 'GET' && given[0]) {
        this[SENT] ??= { sent: undefined, sentBytes: 0 }
        carefully(bodies.noteSent, this[SENT], given[0])
      }
      return original.apply(this, given)
    }
  http.ClientRequest.prototype.write = noting(write)
  http.ClientRequest.prototype.end = noting(end)
  const on = (name, act) => diagnostics.subscribe(`http.client.${name}`, (message) => carefully(act, message))
  on('request.start', ({ request }) => {
    if (proofs.isOwnRequest(request) || request.method === 'CONNECT') return
    const host = request.getHeader('host') ?? request.host
    const exchange = open(request, `${request.protocol}//${host}${request.path}`, sentByHttp)
    if (exchange === undefined) return
    Object.assign(exchange, request[SENT])
    request[EXCHANGE] = exchange
  })
  on('response.finish', ({ request, response }) => {
    const exchange = request[EXCHANGE]
    if (exchange === undefined) return
    begin(exchange, response.statusCode, response.headers)
    const { push } = response
    response.push = function pushWatched(chunk, ...rest) {
      carefully(chunk === null ? close : take, exchange, chunk)
      return push.call(this, chunk, ...rest)
    }
  })
  on('request.error', ({ request }) => fail(request[EXCHANGE]))
}

const sentByUndici = ({ headers }) => String(headers)
const sentByHttp = (request) => JSON.stringify(request.getHeaders())

/**
 * @param {{method: string}} request
 * @param {string} url
 * @param {(request: any) => string} fieldsOf the fields that are sent with it, as text
 */
function open(request, url, fieldsOf) {
  const { method } = request
  if (NO_CONTENT.test(url)) return undefined
  const visit = current.getStore()
  // What is fetched without a visit, or after its answer, is kept for others.
  const isOutside = visit === undefined || visit.isEnding
  if (isOutside && (method === 'GET' || method === 'HEAD')) {
    noteOutside('fetched-outside')
    return undefined
  }
  const exchange = {
    visit: isOutside ? undefined : visit,
    method,
    url,
    /** What was sent with it. */
    sent: undefined,
    sentBytes: 0,
    status: 0,
    type: '',
    coding: '',
    /** The request in one text: its URL, for most of them. */
    key: '',
    /** What its last response was, as long as this one is the same. */
    last: undefined,
    chunks: [],
    bytes: 0,
    shape: undefined,
    tags: undefined,
    isTooLong: false,
    isEnded: false,
    isFailed: false,
    isPersonal: false,
  }
  if (isOutside) return exchange
  if (!visit.isAnonymous) exchange.isPersonal = proofs.isPersonal(visit.req, `${url}\n${fieldsOf(request)}`)
  visit.exchanges.push(exchange)
  return exchange
}

function begin(exchange, status, fields) {
  const isAnswered = exchange.visit?.isEnding ?? true
  if (isAnswered && isReport(exchange)) return
  if (exchange.visit === undefined) return noteOutside('fetched-outside')
  exchange.status = status
  // The fields themselves are not kept: undici's are parts of the buffer that a socket has read into.
  exchange.type = fieldOf(fields, 'content-type')
  exchange.coding = fieldOf(fields, 'content-encoding')
  bodies.begin(exchange)
  if (status >= 500 || status === 429 || status === 408) exchange.isFailed = true
  // From here on its value may be kept, and used by others. Errors and files are no content of other pages.
  else if (!MEDIA.test(exchange.type)) proofs.see(exchange)
}

function take(exchange, chunk) {
  const visit = exchange?.visit
  if (visit === undefined || visit.isProbe) return
  // It cannot be in the answer any more.
  if (visit.isEnding) exchange.isTooLong = true
  else bodies.take(exchange, chunk)
}

function close(exchange) {
  if (exchange !== undefined) exchange.isEnded = true
}

function fail(exchange) {
  if (exchange !== undefined && !exchange.isEnded) exchange.isFailed = true
}

module.exports = { watchExchanges }
