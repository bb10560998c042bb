'use strict'
// A visit is one request that the app is answering: which tags its answer has, how old that is, and what it waits for.
// Everything happens on the response itself, and only once there is something to say, so that other answers cost nothing.
const { AsyncLocalStorage } = require('node:async_hooks')
const http = require('node:http')
const { expiredModeOf } = require('./fallback.cjs')

/** What Next.js tells the cache that it expects in front. The edge reads it and takes it away. */
const TAGS_HEADER = 'x-next-cache-tags'
/** In place of more tags than a header should hold: every purge of tags names it too. */
const TOO_MANY = 'headland-too-many-tags'
const MAX_TAGS_LENGTH = 8192
const MAX_HOLD_MS = 5000
const NOT_KEPT = 'private, no-cache, no-store, max-age=0, must-revalidate'

const visits = new AsyncLocalStorage()

/** Those whose answers have something to say. */
const labelled = new WeakMap()

/** From now on every request of every server in this process is a visit. */
function watchServers() {
  const { emit } = http.Server.prototype
  http.Server.prototype.emit = function emitWatched(event, ...rest) {
    if (event !== 'request') return emit.call(this, event, ...rest)
    const [req, res] = rest
    const visit = {
      req,
      res,
      // As it came: Next.js changes it on its way.
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
    }
    return visits.run(visit, () => emit.call(this, event, ...rest))
  }
  const { writeHead } = http.ServerResponse.prototype
  http.ServerResponse.prototype.writeHead = function writeHeadLabelled(...rest) {
    const visit = labelled.get(this)
    if (visit !== undefined && !this.headersSent) setHeaders(visit)
    return writeHead.apply(this, rest)
  }
}

/** The answer to this visit has the tags of this label, which is made once for many answers. */
function note(visit, label) {
  if (visit.labels !== undefined) {
    if (!visit.labels.includes(label)) visit.labels.push(label)
  } else if (!visit.res.headersSent) {
    visit.labels = [label]
    labelled.set(visit.res, visit)
  }
}

/** The answer to this visit is made of what has expired, so it is for this visitor alone. */
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
  // Those of its path and its layouts are few.
  const implicit = [...tags].filter((tag) => tag.startsWith('_N_T_')).join(',')
  return implicit.length <= MAX_TAGS_LENGTH ? `${TOO_MANY},${implicit}` : TOO_MANY
}

/** As it can stand in a header: the same in answers and in purges, and a tag of plain letters as it is. */
const encodeTag = (tag) =>
  String(tag)
    .replace(/[^\x20-\x7e]|,/gu, encodeCharacter)
    .trim()

const encodeCharacter = (character) =>
  [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** Nothing of the answer is sent before that is done, which must not fail; or not for long, whatever it waits for. */
function hold(visit, until) {
  const { res } = visit
  if (visit.waits === undefined) {
    if (res.headersSent) return
    visit.waits = []
    const release = keepBack(res)
    const timer = setTimeout(release, MAX_HOLD_MS)
    // More may come while it waits.
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
