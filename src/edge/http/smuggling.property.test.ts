/**
 * Bytes that could be read as other requests than they seem to be. A small reader, written from RFC 9112 alone and as
 * strict as it can be, says which requests a connection holds; whatever the bytes are and however they are cut, the app
 * behind the edge is asked those, each at most once, and nothing else.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HOST, serverTarget, startTestEdge, startUpstream, type TestEdge } from '../../../test/support/edge/edge.ts'
import { connectTo } from '../../../test/support/edge/fast-path.ts'
import { holds } from '../../../test/support/fuzz.ts'
import { until } from '../../../test/support/until.ts'

type Asked = { method: string; target: string; body: string }

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const REQUEST_LINE = new RegExp(`^(${TOKEN}) ([!-~\x80-\xff]+) HTTP/1\\.([01])$`)
const FIELD = new RegExp(`^(${TOKEN}):[ \t]*((?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?)[ \t]*$`)
const CHUNK = /^([0-9A-Fa-f]{1,12})(?:;[\t -~\x80-\xff]*)?$/

/**
 * The whole requests at the beginning of some bytes, until the connection is to end or something is not well-formed.
 */
function readAll(bytes: string): Asked[] {
  const requests: Asked[] = []
  let at = 0

  /** Up to a line end of both its characters; nothing where there is none, or one of them stands alone. */
  function line(): string | undefined {
    const end = bytes.indexOf('\r\n', at)
    const text = end < 0 ? '\r' : bytes.slice(at, end)
    if (/[\r\n]/.test(text)) return undefined
    at = end + 2
    return text
  }

  function fields(): [name: string, value: string][] | undefined {
    const found: [string, string][] = []
    for (let text = line(); text !== ''; text = line()) {
      const [, name, value] = FIELD.exec(text ?? '') ?? []
      if (name === undefined || value === undefined) return undefined
      found.push([name.toLowerCase(), value])
    }
    return found
  }

  function chunks(): string | undefined {
    for (let body = ''; ; ) {
      const [, digits] = CHUNK.exec(line() ?? '') ?? []
      if (digits === undefined) return undefined
      const size = Number.parseInt(digits, 16)
      if (size === 0) return fields() && body
      if (bytes.slice(at + size, at + size + 2) !== '\r\n') return undefined
      body += bytes.slice(at, at + size)
      at += size + 2
    }
  }

  for (;;) {
    // Line ends before a request belong to none, whole or by halves: nothing but the beginning of one can follow them.
    while (bytes[at] === '\r' || bytes[at] === '\n') at++
    const [, method = '', target = '', minor] = REQUEST_LINE.exec(line() ?? '') ?? []
    const head = minor === undefined ? undefined : fields()
    if (!head) return requests
    const all = (name: string) => head.filter(([each]) => each === name).map(([, value]) => value)
    const [lengths, codings, hosts] = [all('content-length'), all('transfer-encoding'), all('host')]
    const isRight =
      hosts.length <= 1 &&
      (hosts.length === 1 || minor === '0') &&
      lengths.length + codings.length <= 1 &&
      !target.includes('#')
    if (!isRight || (codings.length > 0 && minor === '0')) return requests
    let body: string | undefined = ''
    if (codings[0] !== undefined) body = codings[0].toLowerCase() === 'chunked' ? chunks() : undefined
    else if (lengths[0] !== undefined) {
      const length = /^\d{1,15}$/.test(lengths[0]) ? Number(lengths[0]) : Number.POSITIVE_INFINITY
      body = at + length <= bytes.length ? bytes.slice(at, at + length) : undefined
      at += length
    }
    if (body === undefined) return requests
    requests.push({ method, target, body })
    const connection = all('connection').join(',').toLowerCase()
    const isLast = /close/.test(connection) || (minor === '0' && !/keep-alive/.test(connection))
    if (isLast) return requests
  }
}

/* Requests: mostly right, often with one trick, now and then with a byte that should not be there. */

const TRICKS = [
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length : 5',
  'Content-Length: 5\r\n ',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: \x0bchunked',
  'Transfer-Encoding:\r\n chunked',
  'transfer_encoding: chunked',
  'X: a\rTransfer-Encoding: chunked',
  'X: a\nTransfer-Encoding: chunked',
  'X: a\0b',
  'X-Fold: a\r\n\tb',
  ' X: a',
  'NoColon',
  'Host: other',
  'Connection: close',
  'Connection: keep-alive, Content-Length',
  'Connection: Transfer-Encoding',
  'Connection: Host',
  'Expect: 100-continue',
  'Upgrade: h2c',
  'TE: trailers',
  'Trailer: Content-Length',
]
const HIDDEN = `GET /hidden HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`
const BODIES: [headers: string[], body: string][] = [
  [['Content-Length: 4'], 'body'],
  [[`Content-Length: ${HIDDEN.length}`], HIDDEN],
  [['Transfer-Encoding: chunked'], '4\r\nbody\r\n0\r\n\r\n'],
  [['Transfer-Encoding: chunked'], `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`],
  [['Transfer-Encoding: chunked'], '4;a="b"\r\nbody\r\n0\r\nX: y\r\n\r\n'],
  [['Transfer-Encoding: gzip, chunked'], '4\r\nbody\r\n0\r\n\r\n'],
  [['Transfer-Encoding: , chunked'], `0\r\n\r\n${HIDDEN}`],
  [['Transfer-Encoding: chunked'], '4\nbody\r\n0\r\n\r\n'],
  [['Transfer-Encoding: chunked'], '4 \r\nbody\r\n0\r\n\r\n'],
  [['Transfer-Encoding: chunked'], '0x4\r\nbody\r\n0\r\n\r\n'],
  [['Transfer-Encoding: chunked'], '4\r\nbody0\r\n\r\n'],
  [['Transfer-Encoding: chunked'], '00000004\r\nbody\r\n000\r\n\r\n'],
  [['Transfer-Encoding: chunked'], '4;\n\r\nbody\r\n0\r\n\r\n'],
  [['Transfer-Encoding: chunked'], `0\r\nContent-Length: 5\r\n\r\n`],
  [['Content-Length: 6', 'Transfer-Encoding: chunked'], `0\r\n\r\nX`],
  [['Transfer-Encoding: chunked', 'Content-Length: 5'], `0\r\n\r\n`],
  [['Content-Length: 5', 'Content-Length: 0'], 'body!'],
  [[], HIDDEN],
]
const PLAIN: [string[], string] = [[], '']

const oneRequest = fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'POST', 'HEAD', 'DELETE', 'OPTIONS', 'get', 'G ET'),
  version: fc.oneof(
    { weight: 15, arbitrary: fc.constant('HTTP/1.1') },
    { weight: 1, arbitrary: fc.constantFrom('HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', '', 'HTTP/1.1 ') },
  ),
  tricks: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.constantFrom(...TRICKS), { minLength: 1, maxLength: 2 }) },
  ),
  framing: fc.oneof({ weight: 1, arbitrary: fc.constant(PLAIN) }, { weight: 1, arbitrary: fc.constantFrom(...BODIES) }),
  isHostFirst: fc.boolean(),
})
const bytesOf = (list: readonly (typeof oneRequest extends fc.Arbitrary<infer T> ? T : never)[]): string =>
  list
    .map(({ method, version, tricks, framing: [headers, body], isHostFirst }, n) => {
      const host = `Host: ${HOST}`
      const fields = isHostFirst ? [host, ...headers, ...tricks] : [...tricks, ...headers, host]
      return `${method} /${n} ${version}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n${body.replace('/hidden', `/hidde${n}`)}`
    })
    .join('')

const mutation = fc.record({
  at: fc.noBias(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })),
  kind: fc.constantFrom('drop', 'insert', 'replace', 'double'),
  byte: fc.oneof(
    fc.constantFrom(...'\r\n \t\0:;,#\\"\x0b\x7f\x85\xa0\xff0'),
    fc.nat(255).map((code) => String.fromCharCode(code)),
  ),
})
function mutate(text: string, { at, kind, byte }: typeof mutation extends fc.Arbitrary<infer T> ? T : never): string {
  const place = Math.floor(at * text.length)
  const [head, tail] = [text.slice(0, place), text.slice(place)]
  if (kind === 'insert') return head + byte + tail
  if (kind === 'double') return head + tail.slice(0, 2) + tail
  return head + (kind === 'replace' ? byte : '') + tail.slice(1)
}

const connection = fc
  .tuple(
    fc.array(oneRequest, { minLength: 1, maxLength: 3 }),
    fc.oneof(fc.constant([]), fc.array(mutation, { minLength: 1, maxLength: 2 })),
  )
  .map(([list, mutations]) => mutations.reduce(mutate, bytesOf(list)))
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 })

function split(text: string, places: readonly number[]): string[] {
  const sorted = places.map((place) => Math.floor(place * text.length)).sort((one, other) => one - other)
  return [0, ...sorted].map((from, n) => text.slice(from, sorted[n])).filter((part) => part !== '')
}

/** What an app was asked, as a parser that is not ours reads it; broken-off requests are none. */
async function listeningApp(t: Parameters<typeof startUpstream>[0]) {
  const asked: Asked[] = []
  let open = 0
  const { port } = await startUpstream(t, (request, response) => {
    const { method = '', url = '' } = request
    let body = ''
    open++
    request.setEncoding('latin1')
    request.on('data', (text: string) => (body += text))
    request.on('error', () => undefined)
    request.once('end', () => asked.push({ method, target: url, body }))
    request.once('close', () => open--)
    request.once('end', () => response.end('ok'))
  })
  return { port, take: () => asked.splice(0), isBusy: () => open > 0 }
}

type Given = { parts: readonly string[]; requests: number }

async function notify(edge: TestEdge, app: { isBusy(): boolean }, { parts, requests }: Given): Promise<string> {
  const client = await connectTo(edge)
  for (const part of parts) await client.send(part)
  // Each of them is answered, or one is refused, which ends the connection.
  await until(() => client.isClosed() || (client.text().match(FINAL_ANSWER)?.length ?? 0) >= requests)
  // What else comes was not asked for.
  for (let still = 0, last = -1; still < STILL_TURNS; still++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (client.text().length !== last) still = 0
    last = client.text().length
  }
  client.socket.destroy()
  for (let turns = 0; app.isBusy() && turns < 1000; turns++) await new Promise((resolve) => setImmediate(resolve))
  return client.text()
}

const STILL_TURNS = 40
const FINAL_ANSWER = /HTTP\/1\.1 [2-5]\d\d /g

const sorted = (list: readonly Asked[]): string[] => list.map((each) => JSON.stringify(each)).sort()

test('an app is asked what a strict reader finds in the bytes of a connection, and never anything else', async (t) => {
  const app = await listeningApp(t)
  const hosts = { [HOST]: serverTarget(app.port) }
  const edges = [await startTestEdge(t, hosts), await startTestEdge(t, hosts, { hasFastPath: false })]
  let [whole, refused] = [0, 0]
  await holds(
    fc.asyncProperty(connection, cuts, async (bytes, places) => {
      const requests = readAll(bytes)
      const known = sorted(requests)
      const seen: string[][] = []
      for (const edge of edges) {
        const text = await notify(edge, app, { parts: split(bytes, places), requests: requests.length })
        const asked = sorted(app.take())
        seen.push(asked)
        const unknown = asked.filter((each) => !known.includes(each))
        assert.deepEqual(unknown, [], `of ${JSON.stringify(bytes)} the app was asked something else`)
        assert.equal(new Set(asked).size, asked.length, 'no request is made twice')
        const answers = text.match(/HTTP\/1\.1 200 /g)?.length ?? 0
        assert.ok(answers <= requests.length, `${answers} answers to ${requests.length} requests`)
      }
      assert.deepEqual(seen[0], seen[1], 'with the fast path and without it')
      if (seen[0]?.length === requests.length && requests.length > 0) whole++
      else refused++
    }),
    400,
  )
  assert.ok(whole > 0 && refused > 0, `${whole} connections were answered as a whole, ${refused} were not`)
  for (const edge of edges) assert.deepEqual(edge.troubles, [])
})
