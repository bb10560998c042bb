/** Calls the real servers, under the rules of the build's network: this program is inside of it. */
import { Resolver } from 'node:dns/promises'
import { Agent as HttpAgent, request as requestByHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestByHttps } from 'node:https'

const HEADER_BYTES = 64 * 1024
const ADDRESS_MS = 30_000
const SOCKETS = 64

export function createUpstream({ suffix, waits }) {
  const resolver = new Resolver({ timeout: 3000, tries: 2 })
  const known = new Map()

  /** The real address: the name itself leads here. */
  function lookup(name, options, callback) {
    const found = known.get(name)
    const fresh =
      found && found.until > Date.now()
        ? found
        : { addresses: resolver.resolve4(name + suffix), until: Date.now() + ADDRESS_MS }
    known.set(name, fresh)
    fresh.addresses.then(
      ([address]) => (options.all ? callback(null, [{ address, family: 4 }]) : callback(null, address, 4)),
      (error) => {
        known.delete(name)
        callback(error)
      },
    )
  }

  const agents = (keepAlive) => ({
    http: new HttpAgent({ keepAlive, maxSockets: SOCKETS, lookup }),
    https: new HttpsAgent({ keepAlive, maxSockets: SOCKETS, lookup }),
  })
  // A kept connection may be one that its server is about to close: only a call that can be made again uses one.
  const [kept, single] = [agents(true), agents(false)]

  /** Resolves to the response, whose body is not read yet. `body` is a buffer, a stream or undefined. */
  return function ask({ protocol, host, port, method, path, headers, body, isRepeatable }) {
    return new Promise((resolve, reject) => {
      const call = protocol === 'https' ? requestByHttps : requestByHttp
      const agent = (isRepeatable ? kept : single)[protocol]
      const options = { host, port, method, path, headers, agent, maxHeaderSize: HEADER_BYTES }
      const request = call({ ...options, ...(protocol === 'https' ? { servername: host } : {}) })
      let timer
      request.once('socket', (socket) => {
        // From here on: until then it waits for the build's own other calls.
        timer = setTimeout(
          () => request.destroy(new Error(`did not answer within ${waits.headMs / 1000} s`)),
          waits.headMs,
        )
        if (!socket.connecting) return
        const connecting = setTimeout(() => request.destroy(new Error('could not be reached in time')), waits.connectMs)
        socket.once('connect', () => clearTimeout(connecting))
        socket.once('close', () => clearTimeout(connecting))
      })
      request.once('response', (response) => {
        clearTimeout(timer)
        limitIdle(response, waits.idleMs)
        resolve(response)
      })
      request.on('error', (error) => {
        clearTimeout(timer)
        // The next call may get another of its addresses.
        known.delete(host)
        reject(error)
      })
      if (body === undefined || Buffer.isBuffer(body)) request.end(body)
      else body.on('error', (error) => request.destroy(error)).pipe(request)
    })
  }
}

/** Ends an answer that does not go on. One that the build is slow to read is not meant. */
function limitIdle(response, idleMs) {
  const { socket } = response
  const onTimeout = () => {
    if (response.readableLength > 0 || response.complete) socket.setTimeout(idleMs)
    else response.destroy(new Error('stopped in the middle of an answer'))
  }
  socket.setTimeout(idleMs)
  socket.on('timeout', onTimeout)
  response.once('close', () => socket.off('timeout', onTimeout))
}
