'use strict'
// A visit is one request that the app is answering, with what was fetched for it.
//
// The field is put into the head when the head is sent, not when it is made, so that the app does not see it. An answer that is
// sent in one piece has the final words there. One that is streamed says `pending`, and has them in a trailer. No trailer is
// possible where the answer has a length: then it is not kept.
const http = require('node:http')
const { carefully, isWorking } = require('./carefully.cjs')
const { current, reasonOutside } = require('./outside.cjs')
const proofs = require('./proofs.cjs')
const { isReport, tagsOf } = require('./tags.cjs')

const FIELD = 'x-headland-content'
const VERSION = 1
const MAX_TAGS = 200
const MAX_LENGTH = 6000
const VISIT = Symbol('headland visit')

/** From now on every request of every server in this process is a visit. */
function watchServers() {
  const { emit } = http.Server.prototype
  http.Server.prototype.emit = function emitWatched(...given) {
    if (given[0] !== 'request') return emit.apply(this, given)
    const visit = carefully(visitOf, given[1], given[2])
    if (visit === undefined) return emit.apply(this, given)
    const begin = () => emit.apply(this, given)
    if (visit.probe === undefined || visit.hasBegun) return current.run(visit, begin)
    visit.hasBegun = true
    visit.probe.enter(() => current.run(visit, begin))
    return true
  }
  const { end, _send: send } = http.ServerResponse.prototype
  http.ServerResponse.prototype.end = function endWatched(...given) {
    const visit = this[VISIT]
    if (visit === undefined || visit.isEnding) return end.apply(this, given)
    visit.isEnding = true
    if (visit.isPending) carefully(addTrailer, this, visit)
    const result = end.apply(this, given)
    carefully(proofs.ended, visit, this.statusCode)
    release(visit)
    return result
  }
  // Every byte of an answer passes here, the head with the first of them.
  http.ServerResponse.prototype._send = function sendWatched(...given) {
    const visit = this[VISIT]
    if (visit !== undefined && !this._headerSent && isWorking()) carefully(describe, this, visit, given)
    return send.apply(this, given)
  }
}

function visitOf(req, res) {
  // A server may pass a request on to another one.
  if (res[VISIT] !== undefined) return res[VISIT]
  const probe = proofs.probeOf(req)
  const { cookie, authorization } = req.headers
  const visit = {
    req,
    method: req.method,
    // As it was received: frameworks change req.url.
    url: req.url,
    isAnonymous: cookie === undefined && authorization === undefined,
    probe,
    isProbe: probe !== undefined,
    /** Of a probe: whether it was let in. */
    hasBegun: false,
    tokens: undefined,
    isPending: false,
    isEnding: false,
    exchanges: [],
    /** URLs that `fetch` was called with. */
    calls: undefined,
    /** Why the answer must not be kept. */
    doubt: undefined,
  }
  res[VISIT] = visit
  return visit
}

/**
 * What an answer was made of is of no use after it. A visit itself lives on in each promise and socket that was made for it, of
 * which `fetch` keeps many until the next full collection of garbage: all that it refers to would be copied and kept with it.
 */
function release(visit) {
  visit.req = undefined
  visit.tokens = undefined
  visit.calls = undefined
  visit.exchanges = []
}

/** Only answers to these requests may be kept. */
const isWanted = ({ method, isAnonymous, isProbe }) => method === 'GET' && isAnonymous && !isProbe

function describe(res, visit, [data, encoding]) {
  if (!isWanted(visit) || typeof res._header !== 'string' || !res._header.endsWith('\r\n\r\n')) return
  let words = 'unsure length'
  if (visit.isEnding || isWhole(res, data, encoding)) words = wordsOf(visit)
  else if (res.chunkedEncoding) {
    visit.isPending = true
    words = 'pending'
  }
  res._header = `${res._header.slice(0, -2)}${FIELD}: ${VERSION};${words}\r\n\r\n`
}

/** Whether this is all of an answer that has a length. */
function isWhole({ _contentLength: length }, data, encoding) {
  if (typeof length !== 'number' || data === undefined || data === null) return false
  return (typeof data === 'string' ? Buffer.byteLength(data, encoding) : data.length) >= length
}

function addTrailer(res, visit) {
  res._trailer = `${res._trailer ?? ''}${FIELD}: ${VERSION};${wordsOf(visit)}\r\n`
}

function wordsOf(visit) {
  const doubt = doubtOf(visit)
  if (doubt !== undefined) return `unsure ${doubt}`
  const lists = []
  for (const exchange of visit.exchanges) if (exchange.isEnded) lists.push(tagsOf(exchange))
  const first = lists[0]
  // Lists of tags are remembered, so the same page has the same ones again.
  const known = joined.get(first)
  if (known !== undefined && areSame(known.lists, lists)) return known.words
  const words = join(lists)
  joined.set(first, { lists, words })
  return words
}

const joined = new WeakMap()

function areSame(some, others) {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false
  return true
}

function join(lists) {
  const tags = new Set()
  for (const list of lists) for (const tag of list) tags.add(tag)
  if (tags.has('all') || tags.size > MAX_TAGS) return 'all'
  const words = [...tags].join(' ')
  return words.length > MAX_LENGTH ? 'all' : words
}

/** Why the answer is not known for sure, in one word. */
function doubtOf(visit) {
  const { exchanges, calls, doubt } = visit
  const outside = reasonOutside()
  if (outside !== undefined) return outside
  if (doubt !== undefined) return doubt
  const unproven = proofs.doubt()
  if (unproven === 'app-keeps') return unproven
  let hasLearned = false
  for (const exchange of exchanges) {
    // An error page, or one with a gap, must not outlive the error.
    if (exchange.isFailed) return 'failed-fetch'
    if (exchange.isEnded) hasLearned = true
    // What comes after the answer is not in it: the app answered with what it had.
    else if (!isReport(exchange)) return 'unfinished'
  }
  // It may be the time of the day, or the health of the app.
  if (!hasLearned) return calls === undefined ? 'nothing-fetched' : exchanges.length === 0 ? 'unseen' : 'unfinished'
  // A request that waited in the queue of a pool may have been sent in the name of another visit.
  if (calls !== undefined) for (const call of calls) if (!isSeen(exchanges, call)) return 'unseen'
  return unproven
}

function isSeen(exchanges, call) {
  for (const { url } of exchanges) if (url === call) return true
  return exchanges.some(({ url }) => isSame(url, call))
}

function isSame(url, call) {
  if (!URL.canParse(call)) return false
  const { href, hash } = new URL(call)
  return new URL(url).href === (hash === '' ? href : href.slice(0, -hash.length))
}

module.exports = { watchServers }
