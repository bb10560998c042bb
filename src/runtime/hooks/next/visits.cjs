'use strict'
// A visit is one request that the app is answering: the tags and the age of its response, and what the response waits for.
// A response is changed only where there are headers to add, so that other responses cost nothing.
const { AsyncLocalStorage } = require('node:async_hooks')
const http = require('node:http')
const { expiredModeOf } = require('./fallback.cjs')

/** By this header Next.js names the tags of a page to a cache in front of it. The edge reads it and removes it. */
const TAGS_HEADER = 'x-next-cache-tags'
/** Replaces the tags where they are too long for a header: every purge of tags purges this one too. */
const TOO_MANY = 'headland-too-many-tags'
const MAX_TAGS_LENGTH = 8192
const MAX_HOLD_MS = 5000
const NOT_KEPT = 'private, no-cache, no-store, max-age=0, must-revalidate'

const visits = new AsyncLocalStorage()

/** Visits whose responses get headers, by their response. */
const labelled = new WeakMap()

/**
 * From now on every request of every server in this process is a visit. Where `before` returns a promise, which must not reject,
 * the visit begins after it.
 * @param {(req: import('node:http').IncomingMessage) => Promise<void> | undefined} before
 */
function watchServers(before = () => undefined) {
  const { emit } = http.Server.prototype
  http.Server.prototype.emit = function emitWatched(event, ...rest) {
    if (event !== 'request') return emit.call(this, event, ...rest)
    const [req, res] = rest
    const begin = () => visits.run(visitOf(req, res), () => emit.call(this, event, ...rest))
    const wait = before(req)
    if (wait === undefined) return begin()
    wait.then(begin)
    return true
  }
  const { writeHead } = http.ServerResponse.prototype
  http.ServerResponse.prototype.writeHead = function writeHeadLabelled(...rest) {
    const visit = labelled.get(this)
    if (visit !== undefined && !this.headersSent) setHeaders(visit)
    return writeHead.apply(this, rest)
  }
}

const visitOf = (req, res) => ({
  req,
  res,
  // As it was received: Next.js changes req.url.
  url: req.url,
  startTime: Date.now(),
  expiredMode: expiredModeOf(req),
  isOutdated: false,
  isGuarded: false,
  withheld: undefined,
  expired: undefined,
  labels: undefined,
  ageSeconds: 0,
  mainKey: undefined,
  description: undefined,
  waits: undefined,
  found: undefined,
  isOnDemand: false,
})

/** Notes that the response to this visit has the tags of this label, which is made once for many responses. */
function note(visit, label) {
  if (visit.labels !== undefined) {
    if (!visit.labels.includes(label)) visit.labels.push(label)
  } else if (!visit.res.headersSent) {
    visit.labels = [label]
    labelled.set(visit.res, visit)
  }
}

/** Notes that the response to this visit is made of an expired entry, so that no cache keeps it. */
function markOutdated(visit) {
  visit.isOutdated = true
  if (!visit.res.headersSent) labelled.set(visit.res, visit)
}

const labelOf = (tags) => ({ tags, header: undefined })

function setHeaders({ res, labels, ageSeconds, isOutdated }) {
  if (isOutdated) res.setHeader('cache-control', NOT_KEPT)
  if (/\b(?:private|no-store)\b/.test(String(res.getHeader('cache-control') ?? ''))) return
  if (!res.hasHeader(TAGS_HEADER)) res.setHeader(TAGS_HEADER, headerOf(labels))
  if (ageSeconds > 0 && !res.hasHeader('age')) res.setHeader('age', String(ageSeconds))
}

function headerOf(labels) {
  const [first] = labels
  if (labels.length > 1) return headerOf([labelOf(labels.flatMap(({ tags }) => tags))])
  first.header ??= written(new Set(first.tags.map(encodeTag)))
  return first.header
}

function written(tags) {
  const text = [...tags].join(',')
  if (text.length <= MAX_TAGS_LENGTH) return text
  // The tags of its path and its layouts are few.
  const implicit = [...tags].filter((tag) => tag.startsWith('_N_T_')).join(',')
  return implicit.length <= MAX_TAGS_LENGTH ? `${TOO_MANY},${implicit}` : TOO_MANY
}

/** A tag as it can stand in a header: encoded the same way in responses and in purges; plain ASCII is unchanged. */
const encodeTag = (tag) =>
  String(tag)
    .replace(/[^\x20-\x7e]|,/gu, encodeCharacter)
    .trim()

const encodeCharacter = (character) =>
  [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** Delays the response until this promise has resolved, which must not reject; MAX_HOLD_MS at most. */
function hold(visit, until) {
  const { res } = visit
  if (visit.waits === undefined) {
    if (res.headersSent) return
    visit.waits = []
    const release = keepBack(res)
    const timer = setTimeout(release, MAX_HOLD_MS)
    // Further promises may be added while it waits.
    const wait = async () => {
      for (let next = visit.waits.shift(); next !== undefined; next = visit.waits.shift()) await next
      visit.waits = undefined
      clearTimeout(timer)
      release()
    }
    queueMicrotask(wait)
  }
  visit.waits.push(until)
}

function keepBack(res) {
  const { write, end, flushHeaders } = res
  const calls = []
  let isReleased = false
  res.write = (...rest) => {
    calls.push(() => write.apply(res, rest))
    return true
  }
  res.end = (...rest) => {
    calls.push(() => end.apply(res, rest))
    return res
  }
  res.flushHeaders = () => void calls.push(() => flushHeaders.call(res))
  return () => {
    if (isReleased) return
    isReleased = true
    Object.assign(res, { write, end, flushHeaders })
    try {
      for (const call of calls) call()
    } catch (error) {
      res.destroy(error)
    }
  }
}

module.exports = { visits, watchServers, note, labelOf, markOutdated, hold, encodeTag, TOO_MANY }
