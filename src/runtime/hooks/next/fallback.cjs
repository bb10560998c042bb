'use strict'
// A page that has expired is made anew before a visitor gets it. Where that fails, as with a CMS that is down, the old page is
// better than an error: this process sends the same request to itself with a secret header that allows an expired answer, and
// sends that answer to the visitor in place of the error. The secret is random and never leaves this machine.
const { randomBytes, timingSafeEqual } = require('node:crypto')
const http = require('node:http')

const HEADER = 'x-headland-expired'
const SECRET = randomBytes(32).toString('hex')
const TIMEOUT_MS = 20_000
/**
 * After a failure the old page is served for so long without another try: a CMS that is down is not called for each visitor.
 * A revalidation or a purge ends the pause, since the next visitor is to see the new content.
 */
const PAUSE_MS = 10_000
const MAX_KEYS = 10_000

/** Headers of a connection, not of a response. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date'])

/** Paths of expired pages that were not served and not made anew yet, and when that was. */
const withheld = new Map()
/** Entries that could not be made anew: until when the old ones are served, and the time of the newest revalidation then. */
const pauses = new Map()

/**
 * Whether a visit may get an expired entry, and how: `kept` as it is, or `refreshed` after the response.
 * @param {import('node:http').IncomingMessage} req
 */
function expiredModeOf(req) {
  const given = req.headers[HEADER]
  if (typeof given !== 'string') return undefined
  const [secret = '', mode] = given.split(' ')
  if (secret.length !== SECRET.length || !timingSafeEqual(Buffer.from(secret, 'latin1'), Buffer.from(SECRET)))
    return undefined
  delete req.headers[HEADER]
  return mode
}

/** Whether this visit gets an entry although it has expired. */
function mayHaveExpired(visit, key, newest) {
  if (visit?.expiredMode === 'kept') put(pauses, key, { until: Date.now() + PAUSE_MS, newest })
  if (visit?.expiredMode !== undefined) return true
  const pause = pauses.get(key)
  return pause !== undefined && pause.until > Date.now() && pause.newest === newest
}

/** Notes that the visit does not get the expired entry, and waits for a new one. */
function withhold(visit, key, path) {
  if (visit === undefined) return
  visit.withheld ??= new Set()
  visit.withheld.add(key)
  if (path !== undefined) put(withheld, path, Date.now())
}

/** Notes that a new entry was made. */
function madeAnew(visit, key, path) {
  visit?.withheld?.delete(key)
  pauses.delete(key)
  if (path !== undefined) withheld.delete(path)
}

function put(map, key, value) {
  map.delete(key)
  map.set(key, value)
  if (map.size > MAX_KEYS) map.delete(map.keys().next().value)
}

/**
 * Whether an expired page was withheld from this visit, or from another one of the same path: Next.js makes a page once for
 * visits at the same time, so those get the same error.
 */
const isOwed = ({ withheld: own, url }) => own?.size > 0 || withheld.has(pathnameOf(url))

const pathnameOf = (url) => String(url).split('?', 1)[0]

/** Next.js up to 15 answers 404 where a page of a closed list of paths (`dynamicParams = false`) is not in its cache. */
const isFailure = (status) => status >= 500 || status === 404

const NAMES = ['writeHead', 'write', 'end', 'flushHeaders']

/** From now on an error is not sent before the old page was requested. */
function guard(visit) {
  const { req, res } = visit
  if (visit.isGuarded || visit.expiredMode || res.headersSent || !/^(?:GET|HEAD)$/.test(req.method)) return
  visit.isGuarded = true
  const originals = Object.fromEntries(NAMES.map((name) => [name, res[name]]))
  const release = () => Object.assign(res, originals)
  let calls
  const answer = {
    writeHead: (call) => call && res,
    write: (call) => call && true,
    end: (call) => call && res,
    flushHeaders: () => undefined,
  }
  for (const name of NAMES)
    res[name] = (...rest) => {
      const call = () => res[name](...rest)
      if (calls !== undefined) return answer[name](calls.push(call))
      const status = name === 'writeHead' ? rest[0] : res.statusCode
      if (!isFailure(status) || !isOwed(visit)) {
        release()
        return call()
      }
      calls = [call]
      askAgain(visit, status === 404 ? 'refreshed' : 'kept', (old) => {
        release()
        if (old) return send(res, old)
        for (const each of calls) each()
      })
      return answer[name](call)
    }
}

/** Calls `done` once: with a response that is no failure, or without one. */
function askAgain({ req, url }, mode, done) {
  let isDone = false
  const settle = (old) => {
    if (isDone) return old?.resume()
    isDone = true
    try {
      done(old)
    } catch (error) {
      req.socket?.destroy(error)
    }
  }
  const { localAddress: host, localPort: port } = req.socket
  const headers = { ...req.headers, [HEADER]: `${SECRET} ${mode}`, 'accept-encoding': 'identity', connection: 'close' }
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const call = http.request({ host, port, method: req.method, path: url, headers, agent: false, signal }, (old) => {
    old.on('error', () => req.socket?.destroy())
    if (!isFailure(old.statusCode)) return settle(old)
    old.resume()
    settle()
  })
  call.on('error', () => settle())
  call.end()
}

function send(res, old) {
  for (const name of res.getHeaderNames()) res.removeHeader(name)
  for (const [name, value] of Object.entries(old.headers)) if (!HOP_BY_HOP.has(name)) res.setHeader(name, value)
  res.writeHead(old.statusCode)
  old.pipe(res)
}

module.exports = { expiredModeOf, guard, madeAnew, mayHaveExpired, pathnameOf, withhold }
