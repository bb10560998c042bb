'use strict'
// What was revalidated in this environment, for an app on another machine than the service. The edge sends the number of the
// newest purge with each request: where it is a higher one than before, the service is asked for the record before the request
// goes on. So what was revalidated counts from the very next request on, and a request without news costs one comparison.
//
// What is new in the record counts as revalidated when this process learned of it, not when it was: until then pages were made
// here of data from before it, as by a render that had begun, or of fetched data that Next.js had kept.
const http = require('node:http')
const { setTimeout } = require('node:timers/promises')
const { read } = require('./expiries.cjs')

const HEADER = 'x-headland-purge'
const TIMEOUT_MS = 4000
/** After a failed call the service is not asked for so long. */
const PAUSE_MS = 1000
const MAX_BYTES = 8 * 1024 * 1024
const MAX_OWN = 10_000
/** The clocks of control machines differ by less. */
const CLOCKS_MS = 1000

/**
 * `built` has the times of the build as JSON.
 * @param {{url: string, token: string, environment: string, built: string, say: (line: string) => void}} parts
 */
function createRemote({ url, token, environment, built, say }) {
  const address = new URL(`${url.replace(/\/+$/, '')}/envs/${environment}/revalidations`)
  const { request, Agent } = address.protocol === 'https:' ? require('node:https') : http
  // An agent of its own, so that a proxy agent that the app has set globally is not used.
  const agent = new Agent({ keepAlive: false })
  const started = Date.now()
  // Files of the image get the time at which the instance was made, which is later than the build and earlier than this.
  const times = { ...JSON.parse(built), ended: started }
  let known = -1
  /** The number of the newest answer. An older one may come after it. */
  let answered = -1
  /** The record as the service has it. */
  let recorded
  /** The same by the times at which this process learned of it. */
  let learned = read(JSON.stringify(times))
  let current = learned
  /** When pages were made here because their time had come, by their tags: this process has them, so their record is no news. */
  const own = new Map()
  /** @type {{number: number, done: Promise<void>} | undefined} */
  let asking
  let pauseUntil = 0
  let isFailing = false

  async function refresh(number) {
    try {
      const answer = read(JSON.stringify({ ...times, ...(await ask()) }))
      if (number > answered) {
        answered = number
        await learn(answer)
      }
      known = Math.max(known, number)
      if (isFailing) say('what was revalidated is known again')
      isFailing = false
    } catch (error) {
      pauseUntil = Date.now() + PAUSE_MS
      if (!isFailing) say(`what was revalidated is not known, so all pages are made anew: ${error.message}`)
      isFailing = true
    } finally {
      if (asking?.number === number) asking = undefined
    }
  }

  /** Resolves when a request that begins is later than what was learned. */
  async function learn(answer) {
    const now = Date.now()
    const isBlind = recorded === undefined || isFailing
    const blind = isBlind ? { from: started, until: now } : learned.blind
    learned = { ...(recorded === undefined ? answer : withNews(answer, now)), blind }
    recorded = answer
    current = learned
    while (Date.now() <= now) await setTimeout(1)
  }

  function withNews(answer, now) {
    const tags = new Map()
    for (const [tag, time] of answer.tags) {
      const before = learned.tags.get(tag) ?? 0
      if (time <= (recorded.tags.get(tag) ?? 0)) tags.set(tag, before)
      else tags.set(tag, own.get(tag) === time ? Math.max(time, before) : now)
    }
    // Where there are too many tags, the service replaces the oldest by one time for everything, which is no news.
    const isNews = answer.everything > Math.max(recorded.everything, recorded.newest - CLOCKS_MS)
    let everything = isNews ? now : Math.max(answer.everything, learned.everything)
    for (const [tag, time] of learned.tags) if (!tags.has(tag)) everything = Math.max(everything, time)
    const newest = [...tags.values()].reduce((one, other) => Math.max(one, other), everything)
    return { ...answer, tags, everything, newest }
  }

  /** @returns {Promise<object>} */
  function ask() {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` }
      const options = { headers, agent, signal: AbortSignal.timeout(TIMEOUT_MS) }
      const call = request(address, options, (answer) => {
        const chunks = []
        let bytes = 0
        answer.on('error', reject)
        answer.on('data', (chunk) => {
          bytes += chunk.length
          if (bytes > MAX_BYTES) call.destroy(new Error('the answer is too long'))
          else chunks.push(chunk)
        })
        answer.on('end', () => {
          if (answer.statusCode !== 200) return reject(new Error(`the API answered ${answer.statusCode}`))
          try {
            resolve(JSON.parse(Buffer.concat(chunks).toString()))
          } catch (error) {
            reject(error)
          }
        })
      })
      call.on('error', reject)
      call.end()
    })
  }

  return {
    look: () => current,

    /**
     * Notes that this process has made a page.
     * @param {string} tag
     * @param {number} time
     */
    made(tag, time) {
      own.delete(tag)
      own.set(tag, time)
      if (own.size > MAX_OWN) own.delete(own.keys().next().value)
    },

    /**
     * A promise where the request has to wait.
     * @param {import('node:http').IncomingMessage} req
     */
    before(req) {
      const number = Number(req.headers[HEADER] ?? -1)
      delete req.headers[HEADER]
      if (!(number > known)) return undefined
      // A call that began when a number was known has all that was revalidated before it.
      if (asking !== undefined && asking.number >= number) return asking.done
      if (Date.now() < pauseUntil) {
        expireEverything()
        return undefined
      }
      const done = refresh(number).then(() => {
        if (number > known) expireEverything()
      })
      asking = { number, done }
      return done
    },
  }

  function expireEverything() {
    const now = Date.now()
    current = { ...current, everything: now, newest: now }
  }
}

module.exports = { createRemote }
