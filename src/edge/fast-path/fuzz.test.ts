import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import {
  type Client,
  connectTo,
  type FastPathServer,
  startFastPathServer,
} from '../../../test/support/edge/fast-path.ts'
import { rounds } from '../../../test/support/long.ts'
import { toParts, toWire, type Wire } from '../http/wire.ts'
import type { PlainRequest } from './request.ts'

const SEED = 20_251
const CASES = rounds({ short: 400, long: 1500 })

test('with the fast path and without it, clients get the same bytes, whatever they send', async (t) => {
  t.diagnostic(`seed ${SEED}`)
  const random = createRandom(SEED)
  let answered = 0
  const withFastPath = await startFastPathServer(t, {
    listener,
    answer(request) {
      const wire = answer(request)
      if (wire) answered++
      return wire
    },
  })
  const without = await startFastPathServer(t, { listener })

  for (let n = 0; n < CASES; n++) {
    const chunks = createCase(random)
    const [one, other] = await Promise.all([talk(withFastPath, chunks), talk(without, chunks)])
    assert.deepEqual(one, other, `case ${n} of seed ${SEED}: ${JSON.stringify(chunks)}`)
  }
  assert.deepEqual(withFastPath.troubles, [])
  const passedOn = withFastPath.asked.length
  t.diagnostic(`${answered} requests were answered by the fast path, ${passedOn} by node:http`)
  assert.equal(answered + passedOn, without.asked.length)
  // A generator that makes nothing but nonsense would prove nothing.
  assert.ok(answered > CASES / 3 && passedOn > CASES / 3)
})

test('every byte in every position is accepted or refused by both alike', async (t) => {
  const withFastPath = await startFastPathServer(t, { listener, answer })
  const without = await startFastPathServer(t, { listener })
  for (let code = 0; code < 256; code++) {
    const byte = String.fromCharCode(code)
    for (const sent of [
      request(`GET /hit${byte}a HTTP/1.1`, ['Host: site']),
      request('GET /hit HTTP/1.1', ['Host: site', `X${byte}Y: a`]),
      request('GET /hit HTTP/1.1', ['Host: site', `X: a${byte}b`]),
      request('GET /hit HTTP/1.1', ['Host: site', `X:${byte}a${byte}`]),
    ]) {
      const [one, other] = await Promise.all([talk(withFastPath, [sent]), talk(without, [sent])])
      assert.deepEqual(one, other, JSON.stringify(sent))
    }
  }
})

type Random = { upTo(count: number): number; oneOf<T>(list: readonly T[]): T; chance(share: number): boolean }

/** The server's reply to each chunk, and whether it closed the connection after it. */
async function talk(server: FastPathServer, chunks: string[]): Promise<string[]> {
  const client = await connectTo(server)
  const replies: string[] = []
  // The last one shows what became of the connection.
  for (const chunk of [...chunks, request('GET /hit/last HTTP/1.1', ['Host: site'])]) {
    const before = client.text().length
    await client.send(chunk)
    replies.push(`${withoutDate(client, before)}${client.isClosed() ? '[closed]' : ''}`)
  }
  client.socket.end()
  await client.settle()
  client.socket.destroy()
  return replies
}

const withoutDate = (client: Client, from: number): string =>
  client
    .text()
    .slice(from)
    .replaceAll(/\r\nDate: [^\r]*/g, '\r\nDate:')

/** The same page by both ways: it shows how the request was read. */
function answer(request: PlainRequest): Wire | undefined {
  const { target, authority, headers } = request
  for (const [name, value] of Object.entries(headers)) assert.equal(request.header(name), value)
  if (!target.startsWith('/hit')) return undefined
  const { wireHeaders, body } = page(target, authority, headers)
  return target.length % 2 === 0 ? toWire(200, wireHeaders, body) : toParts(200, wireHeaders, body)
}

const listener: RequestListener = (asked, response) => {
  const { method, url = '', headers, httpVersion } = asked
  if (method === 'GET' && url.startsWith('/hit')) {
    const { wireHeaders, body } = page(url, headers.host ?? '', headers)
    response.writeHead(200, wireHeaders)
    return void response.end(body)
  }
  asked.on('error', () => undefined)
  asked.resume()
  response.end(JSON.stringify([method, url, httpVersion, asked.rawHeaders]))
}

function page(target: string, authority: string, headers: object): { wireHeaders: string[]; body: Buffer } {
  const body = Buffer.from(JSON.stringify([target, authority, Object.entries(headers)]))
  return {
    wireHeaders: ['content-type', 'application/json', 'Content-Length', String(body.length), 'X-High', 'é'],
    body,
  }
}

function createCase(random: Random): string[] {
  const requests = Array.from({ length: random.oneOf([1, 1, 1, 2, 3]) }, () => createRequest(random))
  const text = requests.join('')
  switch (random.upTo(6)) {
    case 0:
      return requests
    case 1:
      return text.length < 150 ? [...text] : [text]
    case 2:
    case 3:
      return split(text, random, 1 + random.upTo(3))
    default:
      return [text]
  }
}

function split(text: string, random: Random, cuts: number): string[] {
  const places = Array.from({ length: cuts }, () => random.upTo(text.length + 1)).sort((a, b) => a - b)
  return [0, ...places].map((from, n) => text.slice(from, places[n])).filter((part) => part !== '')
}

const request = (line: string, headers: string[], body = '', end = '\r\n'): string =>
  `${line}${end}${headers.map((header) => `${header}${end}`).join('')}${end}${body}`

function createRequest(random: Random): string {
  // Half of all are as browsers send them, for the fast path. Of the others, half have one thing about them that is
  // odd.
  if (random.chance(0.5)) return createPlain(random)
  if (random.chance(0.5)) return createNearlyPlain(random)
  const method = random.oneOf(METHODS)
  const line = `${method}${random.oneOf(BLANKS)}${random.oneOf(TARGETS)}${random.oneOf(BLANKS)}${random.oneOf(VERSIONS)}`
  const host = random.chance(0.9)
    ? ['Host: site']
    : random.oneOf([[], ['Host:'], ['HOST:\tsite '], ['Host: a', 'Host: b']])
  const headers = shuffle([...host, ...some(USUAL, random, 3), ...some(ODD, random, 3)], random)
  const [framing, body] = random.chance(0.75) ? [[], ''] : random.oneOf(BODIES)
  const whole = request(
    line,
    [...headers, ...framing],
    body,
    random.chance(0.95) ? '\r\n' : random.oneOf(['\n', '\r', '\r\r\n']),
  )
  return random.chance(0.25) ? mutate(whole, random) : whole
}

function createPlain(
  random: Random,
  target = `/hit${random.oneOf(['', '/a', '?b=c', '/%20|'])}`,
  odd: string[] = [],
): string {
  const headers = odd.some((header) => /^host:/i.test(header)) ? odd : ['Host: site', ...odd]
  return request(`GET ${target} HTTP/1.1`, shuffle([...headers, ...some(USUAL, random, 4)], random))
}

function createNearlyPlain(random: Random): string {
  switch (random.upTo(5)) {
    case 0:
      return mutate(createPlain(random), random)
    case 1:
      return createPlain(random, random.oneOf(TARGETS))
    case 2:
      return createPlain(random, '/hit', random.oneOf(HOSTS))
    case 3:
      return createPlain(random, '/hit', [`X: a${String.fromCharCode(random.upTo(256))}b`])
    default:
      return createPlain(random, '/hit', [random.oneOf(ODD)])
  }
}

function mutate(text: string, random: Random): string {
  const at = random.upTo(text.length)
  const byte = random.chance(0.5) ? random.oneOf(BYTES) : String.fromCharCode(random.upTo(256))
  switch (random.upTo(4)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1)
    case 1:
      return text.slice(0, at) + byte + text.slice(at)
    case 2:
      return text.slice(0, at) + byte + text.slice(at + 1)
    default:
      return random.oneOf(['\r\n', '\n', ' ', '\r\n\r\n', '\0']) + text
  }
}

const HOSTS = [['Host:'], ['HOST:\tsite '], ['Host: a', 'Host: b'], ['Host: a b'], ['Host : a']]
const BYTES = [
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  ':',
  '\0',
  '\x7f',
  '\x0b',
  '\x85',
  '\xa0',
  '\xff',
  '#',
  '"',
  '\\',
  ',',
  ';',
]
const METHODS = ['GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'OPTIONS', 'get', 'GETS', 'DELETE', 'CONNECT', 'SOURCE']
const BLANKS = [' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', '  ', '\t', '']
const VERSIONS = [
  ...Array.from({ length: 12 }, () => 'HTTP/1.1'),
  'HTTP/1.0',
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'HTTP/1.2',
  'http/1.1',
  'HTTP/1.1 ',
  'HTTP/11',
  'RTSP/1.0',
  '',
]
const TARGETS = [
  '/hit',
  '/hit',
  '/hit/../a',
  '/hit%20%zz%',
  '/hit?a=b&c=%00',
  '/hit"<>^`{|}',
  '/hit#part',
  '/hit\\x',
  '/hit\xe9',
  '/hit x',
  `/hit/${'long'.repeat(2100)}`,
  '//hit',
  '/miss',
  '/miss',
  '/miss',
  'http://site/hit',
  'https://other/hit?x',
  'http:///hit',
  '*',
  'hit',
  '?hit',
  '/socket',
]
const USUAL = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64)',
  'Accept: */*',
  'accept-encoding: gzip, br',
  'ACCEPT-LANGUAGE:en',
  'Connection: keep-alive',
  'Connection: Keep-Alive',
  'Sec-Fetch-Mode: \t navigate \t',
  'Sec-Fetch-Site: none',
  'Cookie: a=1; b=2',
  'If-None-Match: "x"',
  'Referer: http://site/\xe9',
  'X-Empty:',
  '__proto__: x',
]
const ODD = [
  'Connection: close',
  'Connection: keep-alive, close',
  'Connection: upgrade, keep-alive',
  'Connection: Upgrade\r\nUpgrade: websocket',
  'Upgrade: h2c',
  'Proxy-Connection: close',
  'Proxy-Connection: keep-alive',
  'Keep-Alive: timeout=5',
  'Expect: 100-continue',
  'Expect: the unexpected',
  'TE: trailers',
  'Trailer: x',
  'Accept: text/html',
  'Cookie: c=3',
  'X-Fold: a\r\n b',
  'X-Blank : a',
  ' X-Before: a',
  'X-Nul: a\0b',
  'X-Cr: a\rb',
  'X-Lf: a\nb',
  'X-High: \x80\xff',
  'X-Name\xe9: a',
  'NoColon',
  ': no name',
  'Content-Length: 0',
  `X-Long: ${'x'.repeat(20_000)}`,
  Array.from({ length: 101 }, (_, n) => `X-${n}: a`).join('\r\n'),
]
const BODIES: [string[], string][] = [
  [['Content-Length: 4'], 'body'],
  [['Content-Length: 4'], '\r\n\r\n'],
  [['Content-Length: 31'], 'GET /hit HTTP/1.1\r\nHost: b\r\n\r\n'],
  [['Content-Length: 4', 'Content-Length: 4'], 'body'],
  [['Content-Length: 4', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
  [['Content-Length: +4'], 'body'],
  [['Content-Length: 4'], 'GET /hit HTTP/1.1\r\nHost: b\r\n\r\n'],
  [['Transfer-Encoding: chunked'], '4\r\nbody\r\n0\r\n\r\n'],
  [['Transfer-Encoding: chunked'], '4;a=b\r\n\r\n\r\n\r\n0\r\nX: y\r\n\r\n'],
  [['Transfer-Encoding: chunked'], '4\nbody\n0\n\n'],
  [['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'],
  [['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'],
  [['Transfer-Encoding : chunked'], '0\r\n\r\n'],
  [['Transfer-Encoding: x'], ''],
  [[], 'a body without a length'],
]

const some = (list: readonly string[], random: Random, max: number): string[] =>
  Array.from({ length: random.upTo(max + 1) }, () => random.oneOf(list))

const shuffle = (list: string[], random: Random): string[] =>
  list
    .map((item) => [random.upTo(1000), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item)

/** Mulberry32: the same numbers for the same seed, everywhere. */
function createRandom(seed: number): Random {
  let state = seed
  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const upTo = (count: number) => Math.floor(next() * count)
  return {
    upTo,
    oneOf: <T>(list: readonly T[]): T => list[upTo(list.length)] as T,
    chance: (share) => next() < share,
  }
}
