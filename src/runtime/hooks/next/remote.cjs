'use strict'
// What was revalidated in this environment, for an app on another machine than the service. The edge sends the number of the
// newest purge with each request: where it is a higher one than before, the service is asked for the record before the request
// goes on. So what was revalidated counts from the very next request on, and a request without news costs one comparison.
const http = require('node:http')
const { read } = require('./expiries.cjs')

const HEADER = 'x-headland-purge'
const TIMEOUT_MS = 4000
/** After a failed call the service is not asked for so long. */
const PAUSE_MS = 1000
const MAX_BYTES = 8 * 1024 * 1024

/**
 * `built` has the times of the build as JSON.
 * @param {{url: string, token: string, environment: string, built: string, say: (line: string) => void}} parts
 */
function createRemote({ url, token, environment, built, say }) {
  const address = new URL(`${url.replace(/\/+$/, '')}/envs/${environment}/revalidations`)
  const { request, Agent } = address.protocol === 'https:' ? require('node:https') : http
  // An agent of its own, so that a proxy agent that the app has set globally is not used.
  const agent = new Agent({ keepAlive: false })
  const times = JSON.parse(built)
  let known = -1
  let current = read(built)
  /** @type {{number: number, done: Promise<void>} | undefined} */
  let asking
  let pauseUntil = 0
  let isFailing = false

  async function refresh(number) {
    try {
      const revalidated = await ask()
      current = read(JSON.stringify({ ...times, ...revalidated }))
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
