'use strict'
// Sends purges to the edge, through the API whose address and token every app has in its variables. Purges are batched: one
// request runs at a time, and what comes meanwhile goes with the next. A failed request is retried for a while, since a page
// may stay in the edge's cache for a year. None of this ever throws: an app must not fail because of it.
const http = require('node:http')

/** The limits of one call of the API. */
const MAX_ENTRIES = 1000
const MAX_ENTRY_LENGTH = 2048
/** Further entries are dropped, to bound the memory that this takes from the app. */
const MAX_WAITING = 100_000
const TIMEOUT_MS = 4000
const RETRY_FIRST_MS = 200
const RETRY_LAST_MS = 30_000
const MAX_TRIES = 20
/** Pages that were regenerated because their time had come are collected for so long before they are sent. */
const SOON_MS = 100
/** A response is not delayed for longer, whatever the API does. */
const ANSWER_TIMEOUT_MS = 5000

/**
 * What is sent for one entry: that it is purged from the edge; the time before which copies are outdated; and when a page was
 * made, which counts where another deployment is about to take over.
 * @typedef {{isPurged: boolean, revalidated?: number, made?: number}} Waiting
 *
 * Tags for the service's record of revalidations, and their time.
 * @typedef {{revalidated?: readonly string[], made?: readonly string[], time?: number}} Noted
 */

/** @param {{url: string, token: string, environment: string, say: (line: string) => void}} parts */
function createPurges({ url, token, environment, say }) {
  const address = new URL(`${url.replace(/\/+$/, '')}/envs/${environment}/edge/cache/tags:purge`)
  const { request, Agent } = address.protocol === 'https:' ? require('node:https') : http
  // An agent of its own, so that a proxy agent that the app has set globally is not used.
  const agent = new Agent({ keepAlive: false })
  /** @type {Map<string, Waiting>} */
  const waiting = new Map()
  /** @type {(() => void)[]} */
  let waiters = []
  let isSending = false
  let failures = 0
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  /**
   * @param {Iterable<string>} entries
   * @param {Noted} [noted]
   */
  function add(entries, { revalidated = [], made = [], time = 0 } = {}) {
    for (const entry of entries) merge(entry, { isPurged: true })
    for (const entry of revalidated) merge(entry, { isPurged: false, revalidated: time })
    for (const entry of made) merge(entry, { isPurged: false, made: time })
  }

  /**
   * @param {string} entry
   * @param {Waiting} more
   */
  function merge(entry, more) {
    if (entry.length === 0 || entry.length > MAX_ENTRY_LENGTH || waiting.size >= MAX_WAITING) return
    const known = waiting.get(entry)
    waiting.set(entry, { ...known, ...more, isPurged: more.isPurged || known?.isPurged === true })
  }

  /** @param {number} ms */
  function later(ms) {
    if (timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      send()
    }, ms)
    // The timer must not keep the app's process alive.
    timer.unref()
  }

  async function send() {
    if (isSending || waiting.size === 0) return
    isSending = true
    const [sent, notified] = [[...waiting].slice(0, MAX_ENTRIES), waiters]
    for (const [entry] of sent) waiting.delete(entry)
    const isAll = waiting.size === 0
    if (isAll) waiters = []
    const outcome = await post(bodyOf(sent))
    isSending = false
    if (outcome.isDone) {
      if (failures > 0) say('purging the edge works again')
      failures = 0
      if (isAll) for (const notify of notified) notify()
      if (waiting.size > 0) send()
      return
    }
    failures++
    if (!outcome.isRetryable || failures > MAX_TRIES) {
      say(`the edge keeps ${sent.length} changed entries until they expire: ${outcome.why}`)
      failures = 0
      for (const notify of notified) notify()
      if (waiting.size > 0) later(RETRY_FIRST_MS)
      return
    }
    if (failures === 1) say(`the edge could not be purged, which is retried: ${outcome.why}`)
    // Entries that were added meanwhile are newer.
    for (const [entry, what] of sent) merge(entry, { ...what, ...waiting.get(entry), isPurged: what.isPurged })
    if (isAll) waiters = [...notified, ...waiters]
    later(outcome.waitMs ?? Math.min(RETRY_FIRST_MS * 2 ** (failures - 1), RETRY_LAST_MS))
  }

  /**
   * @param {object} body
   * @returns {Promise<{isDone: boolean, isRetryable: boolean, why: string, waitMs?: number}>}
   */
  function post(body) {
    const text = Buffer.from(JSON.stringify(body))
    return new Promise((resolve) => {
      const failed = (/** @type {Error} */ error) => resolve({ isDone: false, isRetryable: true, why: error.message })
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': text.length,
      }
      const options = { method: 'POST', headers, agent, signal: AbortSignal.timeout(TIMEOUT_MS) }
      const call = request(address, options, (answer) => {
        const status = answer.statusCode ?? 0
        const seconds = Number(answer.headers['retry-after'])
        answer.on('error', failed)
        answer.on('end', () =>
          resolve({
            isDone: status >= 200 && status < 300,
            isRetryable: status === 429 || status >= 500,
            why: `the API answered ${status}`,
            ...(seconds > 0 ? { waitMs: Math.min(seconds * 1000, RETRY_LAST_MS) } : {}),
          }),
        )
        answer.resume()
      })
      call.on('error', failed)
      call.end(text)
    })
  }

  return {
    /**
     * Resolves when the edge has purged them, or when that takes too long; never rejects.
     * @param {Iterable<string>} entries
     * @param {Noted} [noted]
     * @returns {Promise<void>}
     */
    now(entries, noted) {
      add(entries, noted)
      if (waiting.size === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, ANSWER_TIMEOUT_MS)
        waiters.push(() => {
          clearTimeout(timer)
          resolve()
        })
        // After a failed call the next one waits for its retry; otherwise it is sent at once.
        if (failures === 0) queueMicrotask(send)
      })
    },

    /**
     * @param {Iterable<string>} entries
     * @param {Noted} [noted]
     */
    soon(entries, noted) {
      add(entries, noted)
      if (waiting.size > 0) later(SOON_MS)
    },
  }
}

/**
 * The request body of the API.
 * @param {[string, Waiting][]} sent
 */
function bodyOf(sent) {
  const timesOf = (/** @type {'revalidated' | 'made'} */ name) =>
    Object.fromEntries(sent.flatMap(([entry, what]) => (what[name] === undefined ? [] : [[entry, what[name]]])))
  const tags = sent.flatMap(([entry, { isPurged }]) => (isPurged ? [entry] : []))
  return { tags, revalidated: timesOf('revalidated'), made: timesOf('made') }
}

module.exports = { createPurges }
