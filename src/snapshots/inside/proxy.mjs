/**
 * Answers for the named hosts inside of a build's network: it asks the real ones, passes the answers on and records them; or,
 * where `replays` is set, it answers with what an earlier build recorded and asks no server. It tells the service what happens as
 * lines of JSON on its standard output, and never what a request or an answer contains.
 */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { getCACertificates } from 'node:tls'
import { makeCertificates } from './certificates.mjs'
import { createRecorder, readRecorded } from './records.mjs'
import { BODY_BYTES, isJson, isRecorded, keysOf, shownBody, shownUrl } from './requests.mjs'
import { createUpstream } from './upstream.mjs'

const given = JSON.parse(process.env.HEADLAND_CONTENT)
const { hosts, ports, address, secret, replays, holds, limits, waits, folders } = given
const RETRY_MS = waits.retryMs
/** Of one connection only, or changed by this program. */
const HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** An answer must not depend on what the client has stored, and is recorded as it is read. */
const LEFT_OUT = [
  ...HOP,
  'host',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
  'if-range',
  'accept-encoding',
  'expect',
]

const tell = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)

const ask = createUpstream({ suffix: given.suffix, waits })
const earlier = folders.earlier ? readRecorded(folders.earlier) : undefined
const recorder = replays ? undefined : createRecorder(folders.recorded, limits, (why) => tell({ incomplete: why }))
const underWay = new Set()
const told = { outage: false, miss: false }

/** The first of each is enough: the service ends the build. */
function tellOnce(what, message) {
  if (told[what]) return
  told[what] = true
  tell({ [what]: message })
}

async function answer(request, response, protocol) {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
  const port = request.socket.localPort
  const named = protocol === 'https' ? request.socket.servername || host : host
  if (!hosts.includes(host) || named !== host) return refuse(response, 421, 'This host is not recorded.')
  const isUsual = port === (protocol === 'https' ? 443 : 80)
  const at = isUsual ? host : `${host}:${port}`
  const { method, url: path, headers } = request
  if (!path.startsWith('/')) return refuse(response, 400, 'A path begins with a slash.')
  const target = { protocol, host, port, at, origin: `${protocol}://${at}`, method, path, headers }
  const body = await bodyOf(request)
  const isKept = !('rest' in body) && isRecorded(method, headers, body.buffer)
  const keys = isKept ? keysOf(secret, { ...target, body: body.buffer }) : undefined
  if (replays) return replay(response, target, keys)
  // What the build does not wait for may be missing, and then the snapshot is not whole.
  const mark = keys && { url: shownUrl(target.origin, path) }
  if (mark) underWay.add(mark)
  await pass(response, { ...target, body, keys })
  underWay.delete(mark)
}

/** JSON is read, since it may be a query. All else is passed on as it comes: `rest` has what was not read. */
async function bodyOf(request) {
  const { method, headers } = request
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    return { buffer: undefined }
  if (method !== 'POST' || !isJson(headers) || Number(headers['content-length'] ?? 0) > BODY_BYTES)
    return { rest: request }
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    chunks.push(chunk)
    length += chunk.length
    if (length > BODY_BYTES) throw Object.assign(new Error('The body is too large.'), { status: 413 })
  }
  return { buffer: Buffer.concat(chunks) }
}

async function pass(response, target) {
  const { protocol, host, port, at, origin, method, path, headers, body, keys } = target
  const url = shownUrl(origin, path)
  const sent = Object.fromEntries(Object.entries(headers).filter(([name]) => !LEFT_OUT.includes(name)))
  const length = body.buffer === undefined ? {} : { 'content-length': String(body.buffer.length) }
  const call = {
    ...{ protocol, host, port, method, path, body: body.rest ?? body.buffer, isRepeatable: keys !== undefined },
    headers: { ...sent, host: at, 'accept-encoding': 'identity', ...length },
  }
  const found = await askTwice(call)
  const before = keys && earlier?.find(keys)
  if (found.error) {
    // An address that failed before, too, is no outage.
    const hasFailed = before !== undefined && before.status >= 500
    if (earlier?.hasHost(at) && !hasFailed) return outage(response, { ...target, url }, inWords(found.error))
    record({ keys, method, url, body, status: 502 }, [], [])
    return refuse(response, 502, `${at} ${inWords(found.error)}.`)
  }
  const status = found.response.statusCode
  if (status >= 500 && before && before.status < 500) {
    found.response.destroy()
    return outage(response, { ...target, url }, `answered with ${status}`)
  }
  const passed = pairsOf(found.response).filter(([name]) => !HOP.includes(name))
  response.writeHead(status, passed.flat())
  const kept = keys && recorder.begin(url)
  try {
    await copy(found.response, response, kept)
  } catch {
    kept?.giveUp()
    response.destroy()
    if (earlier?.hasHost(at)) return outage(undefined, { ...target, url }, 'stopped in the middle of an answer')
    return recorder.incomplete(`${at} stopped in the middle of an answer`)
  }
  // One that asks for fewer calls is no content.
  if (status !== 429) kept?.end(entryOf({ keys, method, url, body, status }, passed))
  else kept?.giveUp()
}

/** An answer that is recorded is read to its end, also where the client does not wait for it. Rejects if the server breaks off. */
async function copy(from, to, kept) {
  const gone = new Promise((resolve) => to.once('close', resolve))
  for await (const chunk of from) {
    kept?.add(chunk)
    if (to.destroyed && !kept) return
    if (!to.destroyed && !to.write(chunk))
      await Promise.race([new Promise((resolve) => to.once('drain', resolve)), gone])
  }
  to.end()
}

const entryOf = ({ keys, method, url, body, status }, headers) => {
  const query = shownBody(body.buffer)
  const stored = headers.filter(([name]) => name !== 'set-cookie' && name !== 'content-length')
  return { keys, method, url, ...(query === undefined ? {} : { query }), status, headers: stored }
}

function record(what, headers, chunks) {
  if (!what.keys) return
  const kept = recorder.begin(what.url)
  for (const chunk of chunks) kept.add(chunk)
  kept.end(entryOf(what, headers))
}

/** A call that fails is made once more, if it can be: a server that is started again is not down. */
async function askTwice(call) {
  const first = await attempt(call)
  if (!call.isRepeatable || (first.response && first.response.statusCode < 500)) return first
  first.response?.destroy()
  await pause(RETRY_MS)
  return attempt(call)
}

const attempt = (call) =>
  ask(call).then(
    (response) => ({ response }),
    (error) => ({ error }),
  )

/** Where the service will build again, nothing is answered: the build is about to be ended. */
function outage(response, { protocol, host, port, url }, why) {
  tellOnce('outage', { protocol, host, port, url, why })
  recorder.incomplete(`${host} ${why}`)
  if (response && !holds) refuse(response, 502, `${host} ${why}.`)
}

async function replay(response, { method, origin, path }, keys) {
  const found = keys && earlier.find(keys)
  if (!found) {
    if (keys) tellOnce('miss', { method, url: shownUrl(origin, path) })
    return refuse(response, 503, 'The CMS is down, and its last snapshot has no answer to this.')
  }
  response.writeHead(found.status, [...found.headers.flat(), 'content-length', String(found.length)])
  const body = method === 'HEAD' ? undefined : earlier.bodyOf(found)
  if (body) await pipeline(body, response)
  else response.end()
}

function pairsOf({ rawHeaders }) {
  const pairs = []
  for (let at = 0; at < rawHeaders.length; at += 2) pairs.push([rawHeaders[at].toLowerCase(), rawHeaders[at + 1]])
  return pairs
}

function refuse(response, status, text) {
  if (response.headersSent) return response.destroy()
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
}

const inWords = ({ code, message }) =>
  ({
    ECONNREFUSED: 'refused the connection',
    ECONNRESET: 'closed the connection',
    ENOTFOUND: 'has no address: its name could not be resolved',
    ENODATA: 'has no address: its name could not be resolved',
    ESERVFAIL: 'has no address: its name could not be resolved',
    HPE_HEADER_OVERFLOW: 'sent too many bytes of headers',
  })[code] ??
  (/certificate|CERT|issuer|altnames/i.test(`${code} ${message}`)
    ? `has a certificate that is not trusted (${code})`
    : message.startsWith('did not') || message.startsWith('could not') || message.startsWith('stopped')
      ? message
      : 'could not be reached')

const serve = (protocol) => (request, response) => {
  response.on('error', () => undefined)
  answer(request, response, protocol).catch((error) => refuse(response, error.status ?? 502, 'The request failed.'))
}

const { ca, cert, key } = makeCertificates(hosts)
const options = { requestTimeout: 0, maxHeaderSize: 64 * 1024 }
const plain = createHttpServer(options, serve('http'))
const secure = createHttpsServer({ ...options, cert, key, ALPNProtocols: ['http/1.1'] }, serve('https'))
for (const server of [plain, secure]) {
  server.on('clientError', (_, socket) => socket.destroy())
  server.on('upgrade', (_, socket) => socket.destroy())
}
secure.on('tlsClientError', () => undefined)

/** The first byte tells TLS from plain HTTP. */
function welcome(socket) {
  socket.on('error', () => undefined)
  socket.once('data', (first) => {
    socket.pause()
    socket.unshift(first)
    const server = first[0] === 0x16 ? secure : plain
    server.emit('connection', socket)
    process.nextTick(() => socket.resume())
  })
}

for (const port of ports) {
  const server = createServer(welcome)
  server.maxConnections = 2048
  server.listen(port, address)
  await once(server, 'listening')
}

process.on('SIGTERM', () => {
  for (const { url } of underWay) recorder?.incomplete(`the build ended before the answer to ${url} had come`)
  recorder?.close()
  process.stdout.write(`${JSON.stringify({ end: recorder?.count() ?? {} })}\n`, () => process.exit(0))
})
process.on('uncaughtException', () => process.exit(1))
tell({ ready: { ca, extra: getCACertificates('extra') } })
