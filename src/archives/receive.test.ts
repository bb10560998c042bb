import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { temporaryFolder } from '../../test/support/folder.ts'
import { writeZip, zipOf } from '../../test/support/zip.ts'
import { Problem } from '../contract/index.ts'
import { openDiskBlobs } from '../storage/blobs/blobs-disk.ts'
import { type Archive, type ArchiveLimits, createArchives, DEFAULT_ARCHIVE_LIMITS } from './index.ts'

type ReceiveReply = Partial<Archive> & { reason?: string; metadata?: Record<string, string>; message?: string }

/** A real server that hands each request to `receive` and replies with the result. */
async function startServer(t: TestContext, limits: Partial<ArchiveLimits> = {}, signal?: AbortSignal) {
  const folder = await temporaryFolder(t)
  const blobs = await openDiskBlobs(folder)
  const archives = createArchives({ blobs, limits: { ...DEFAULT_ARCHIVE_LIMITS, ...limits } })
  const outcomes: Promise<ReceiveReply>[] = []
  const server = createServer((incoming, reply) => {
    const outcome = archives
      .receive(incoming, incoming.headers['content-type'], signal ? { signal } : {})
      .catch((error): ReceiveReply => {
        if (!(error instanceof Problem)) return { reason: 'none', message: String(error) }
        return { reason: error.reason, metadata: error.metadata, message: error.message }
      })
    outcomes.push(outcome)
    outcome.then((answer) => {
      const text = JSON.stringify(answer)
      reply.writeHead('reason' in answer ? 400 : 200, {
        'content-length': Buffer.byteLength(text),
        connection: 'close',
      })
      reply.end(text)
      incoming.resume()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    folder,
    blobs,
    port,
    outcomes,
    async post(body: string | Buffer | FormData, contentType?: string): Promise<ReceiveReply> {
      const headers = contentType === undefined ? {} : { 'content-type': contentType }
      const reply = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: body as FormData, headers })
      return (await reply.json()) as ReceiveReply
    },
    /** Files in the store: whole blobs, and those that are still being written. */
    async kept(): Promise<string[]> {
      const found = await readdir(folder, { recursive: true, withFileTypes: true })
      return found.filter((entry) => entry.isFile()).map(({ name }) => name)
    },
  }
}

const BOUNDARY = 'a-boundary'
const FORM = `multipart/form-data; boundary=${BOUNDARY}`
const ZIP = zipOf({ 'index.html': '<h1>', 'a/run': { content: '#!', mode: 0o755 }, link: { link: 'index.html' } })
const FILE_HEAD =
  'Content-Disposition: form-data; name="repository"; filename="app.zip"\r\nContent-Type: application/zip'

const part = (head: string, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`--${BOUNDARY}\r\n${head}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')])
const form = (...parts: Buffer[]): Buffer => Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)])
const GOOD_FORM = form(part(FILE_HEAD, ZIP))

const digestOf = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

test('the one file of a form is stored as it came, under its digest', async (t) => {
  const server = await startServer(t)
  const answer = await server.post(GOOD_FORM, FORM)
  assert.deepEqual(answer, { digest: digestOf(ZIP), bytes: ZIP.length, files: 3 })
  assert.deepEqual(await server.blobs.withFile(answer.digest ?? 'sha256:', (file) => readFile(file)), ZIP)
})

test('a form that fetch makes is taken', async (t) => {
  const server = await startServer(t)
  const body = new FormData()
  body.set('repository', new Blob([new Uint8Array(ZIP)], { type: 'application/zip' }), 'app.zip')
  assert.equal((await server.post(body)).digest, digestOf(ZIP))
})

const ACCEPTED: [what: string, body: Buffer, contentType?: string][] = [
  ['a preamble and an epilogue', Buffer.concat([Buffer.from('hello\r\n'), GOOD_FORM, Buffer.from('bye\r\n')])],
  ['a form without a line break at its end', GOOD_FORM.subarray(0, -2)],
  ['a quoted boundary and a charset', GOOD_FORM, `Multipart/Form-Data; charset=utf-8; boundary="${BOUNDARY}"`],
  [
    'a part without a file name, but of bytes',
    form(part('content-disposition: form-data; name=repository\r\ncontent-type: application/octet-stream', ZIP)),
  ],
  [
    'an archive that holds the boundary without a line break before it',
    form(part(FILE_HEAD, zipOf({ a: '', [`--${BOUNDARY}--`]: '' }))),
  ],
]
for (const [what, body, contentType = FORM] of ACCEPTED) {
  test(`${what} is taken`, async (t) => {
    const server = await startServer(t)
    assert.equal((await server.post(body, contentType)).reason, undefined)
    assert.equal((await server.kept()).length, 1)
  })
}

test('a form that comes byte by byte is the same form', async (t) => {
  const server = await startServer(t)
  const socket = await open(t, server.port, `content-length: ${GOOD_FORM.length + 5}`)
  socket.setNoDelay(true)
  for (const byte of Buffer.concat([GOOD_FORM, Buffer.from('after')])) {
    socket.write(Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  assert.equal((await answerOf(socket)).digest, digestOf(ZIP))
})

const REFUSED: [what: string, body: Buffer | string, reason: string, contentType?: string][] = [
  ['JSON', '{}', 'CONTENT_TYPE_UNSUPPORTED', 'application/json'],
  ['a zip without a form', ZIP, 'CONTENT_TYPE_UNSUPPORTED', 'application/zip'],
  ['another kind of multipart', GOOD_FORM, 'CONTENT_TYPE_UNSUPPORTED', `multipart/mixed; boundary=${BOUNDARY}`],
  ['a form without a boundary', GOOD_FORM, 'CONTENT_TYPE_UNSUPPORTED', 'multipart/form-data'],
  ['a form with an empty boundary', GOOD_FORM, 'CONTENT_TYPE_UNSUPPORTED', 'multipart/form-data; boundary='],
  [
    'a form with a boundary of 300 characters',
    GOOD_FORM,
    'CONTENT_TYPE_UNSUPPORTED',
    `multipart/form-data; boundary=${'x'.repeat(300)}`,
  ],
  ['an empty form', form(), 'PART_MISSING'],
  [
    'a plain field of the right name',
    form(part('Content-Disposition: form-data; name="repository"', ZIP)),
    'PART_MISSING',
  ],
  ['a part that says nothing of itself', form(part('X-Nothing: x', ZIP)), 'PART_MISSING'],
  [
    'a part without the end of its header',
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data\r\n--${BOUNDARY}--\r\n`),
    'PART_MISSING',
  ],
  ['a file of another name', form(part(FILE_HEAD.replace('repository', 'file'), ZIP)), 'PART_UNEXPECTED'],
  ['a file without a name', form(part('Content-Disposition: form-data; filename="x"', ZIP)), 'PART_UNEXPECTED'],
  ['a plain field of another name', form(part('Content-Disposition: form-data; name="a"', 'b')), 'PART_UNEXPECTED'],
  [
    'a plain field before the file',
    form(part('Content-Disposition: form-data; name="a"', 'b'), part(FILE_HEAD, ZIP)),
    'PART_UNEXPECTED',
  ],
  [
    'a plain field after the file',
    form(part(FILE_HEAD, ZIP), part('Content-Disposition: form-data; name="a"', 'b')),
    'PART_UNEXPECTED',
  ],
  ['a second file', form(part(FILE_HEAD, ZIP), part(FILE_HEAD, ZIP)), 'PART_UNEXPECTED'],
  [
    'a second part that says nothing of itself',
    form(part(FILE_HEAD, ZIP), part('X-Nothing: x', '')),
    'PART_UNEXPECTED',
  ],
  ['an empty body', '', 'MULTIPART_MALFORMED'],
  ['a body with another boundary', GOOD_FORM, 'MULTIPART_MALFORMED', 'multipart/form-data; boundary=another'],
  ['a form without an end', part(FILE_HEAD, ZIP), 'MULTIPART_MALFORMED'],
  ['a form that ends in the middle of the file', GOOD_FORM.subarray(0, 300), 'MULTIPART_MALFORMED'],
  ['a form that ends in the header of its part', GOOD_FORM.subarray(0, 40), 'MULTIPART_MALFORMED'],
  ['a form with an empty file', form(part(FILE_HEAD, '')), 'ARCHIVE_NOT_ZIP'],
  ['a file that is no zip', form(part(FILE_HEAD, 'no zip')), 'ARCHIVE_NOT_ZIP'],
  ['half an archive in a whole form', form(part(FILE_HEAD, ZIP.subarray(0, 200))), 'ARCHIVE_NOT_ZIP'],
  ['an archive that could leave its folder', form(part(FILE_HEAD, zipOf({ '../x': 'x' }))), 'ARCHIVE_ENTRY_UNSAFE'],
  ['an archive without a file', form(part(FILE_HEAD, zipOf({ 'a/': '' }))), 'ARCHIVE_EMPTY'],
]
for (const [what, body, reason, contentType = FORM] of REFUSED) {
  test(`${what} is refused and leaves nothing on disk`, async (t) => {
    const server = await startServer(t)
    assert.equal((await server.post(body, contentType)).reason, reason)
    assert.deepEqual(await server.kept(), [])
  })
}

test('an archive of exactly the limit is taken, and one byte more is not', async (t) => {
  const exact = await startServer(t, { archiveBytes: ZIP.length })
  assert.equal((await exact.post(GOOD_FORM, FORM)).digest, digestOf(ZIP))
  const less = await startServer(t, { archiveBytes: ZIP.length - 1 })
  const { reason, metadata } = await less.post(GOOD_FORM, FORM)
  assert.equal(reason, 'ARCHIVE_TOO_LARGE')
  assert.deepEqual(metadata, { what: 'archiveBytes', limit: String(ZIP.length - 1) })
  assert.deepEqual(await less.kept(), [])
})

const ENDLESS: [what: string, start: Buffer][] = [
  ['file', Buffer.from(`--${BOUNDARY}\r\n${FILE_HEAD}\r\n\r\n`)],
  ['preamble', Buffer.from('preamble')],
  ['header', Buffer.from(`--${BOUNDARY}\r\nX-Long: `)],
  ['epilogue', GOOD_FORM],
]
for (const [what, start] of ENDLESS) {
  test(`an endless ${what} is answered while it still comes`, async (t) => {
    const server = await startServer(t, { archiveBytes: 100_000 })
    const socket = await open(t, server.port, `content-length: ${2 ** 40}`)
    const answer = answerOf(socket)
    socket.write(start)
    const chunk = Buffer.alloc(16 * 1024, 'x')
    while (!socket.destroyed && server.outcomes.length === 0) await wait(1)
    const outcome = Promise.race([server.outcomes[0], answer])
    let isOver = false
    outcome.then(() => {
      isOver = true
    })
    while (!isOver) {
      if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), outcome])
      else await new Promise(setImmediate)
    }
    assert.equal((await outcome)?.reason, 'ARCHIVE_TOO_LARGE')
    assert.deepEqual(await server.kept(), [])
  })
}

for (const [what, bytes] of [
  ['in the header of the part', 60],
  ['in the middle of the file', 400],
  ['right before the end of the form', GOOD_FORM.length - 6],
] as const) {
  test(`a client that goes away ${what} leaves nothing on disk`, async (t) => {
    const server = await startServer(t)
    const socket = await open(t, server.port, `content-length: ${GOOD_FORM.length}`)
    socket.write(GOOD_FORM.subarray(0, bytes))
    while (server.outcomes.length === 0) await wait(1)
    socket.destroy()
    assert.equal((await server.outcomes[0])?.reason, 'UPLOAD_INTERRUPTED')
    assert.deepEqual(await server.kept(), [])
  })
}

test('a client that stops sending is cut off', async (t) => {
  const server = await startServer(t, { stallMs: 100 })
  const socket = await open(t, server.port, `content-length: ${GOOD_FORM.length}`)
  socket.write(GOOD_FORM.subarray(0, 300))
  assert.equal((await answerOf(socket)).reason, 'UPLOAD_TOO_SLOW')
  assert.deepEqual(await server.kept(), [])
})

test('a client that sends nothing is cut off', async (t) => {
  const server = await startServer(t, { stallMs: 100 })
  const socket = await open(t, server.port, `content-length: ${GOOD_FORM.length}`)
  assert.equal((await answerOf(socket)).reason, 'UPLOAD_TOO_SLOW')
})

test('a client that sends a byte now and then is cut off', async (t) => {
  const server = await startServer(t, { stallMs: 300 })
  const socket = await open(t, server.port, 'content-length: 100000')
  socket.setNoDelay(true)
  const answer = answerOf(socket)
  const dripping = setInterval(() => socket.write('-'), 20)
  t.after(() => clearInterval(dripping))
  assert.equal((await answer).reason, 'UPLOAD_TOO_SLOW')
})

test('a slow store does not count against the client', async (t) => {
  const blobs = await openDiskBlobs(await temporaryFolder(t))
  const slow = {
    ...blobs,
    put: async (source: AsyncIterable<Uint8Array>, check?: (file: string) => Promise<void>) => {
      await wait(1200)
      return await blobs.put(source, check)
    },
  }
  const archives = createArchives({ blobs: slow, limits: { ...DEFAULT_ARCHIVE_LIMITS, stallMs: 1000 } })
  const big = form(part(FILE_HEAD, writeZip([{ name: 'a', content: Buffer.alloc(4_000_000), method: 0 }])))
  const chunks = Array.from({ length: Math.ceil(big.length / 65_536) }, (_, n) =>
    big.subarray(n * 65_536, (n + 1) * 65_536),
  )
  assert.equal((await archives.receive(Readable.from(chunks), FORM)).files, 1)
})

test('an aborted upload ends with the reason, and leaves nothing on disk', async (t) => {
  const off = new AbortController()
  const server = await startServer(t, {}, off.signal)
  const socket = await open(t, server.port, `content-length: ${GOOD_FORM.length}`)
  socket.write(GOOD_FORM.subarray(0, 300))
  while (server.outcomes.length === 0) await wait(1)
  off.abort(new Problem('STOPPING'))
  assert.equal((await answerOf(socket)).reason, 'STOPPING')
  assert.deepEqual(await server.kept(), [])
  assert.equal((await server.post(GOOD_FORM, FORM)).reason, 'STOPPING')
})

test('a store that fails does not hang the upload', async (t) => {
  const blobs = await openDiskBlobs(await temporaryFolder(t))
  const full = { ...blobs, put: () => Promise.reject(new Error('disk full')) }
  const archives = createArchives({ blobs: full, limits: DEFAULT_ARCHIVE_LIMITS })
  const body = new Readable({ read: () => undefined })
  body.push(GOOD_FORM.subarray(0, 300))
  await assert.rejects(archives.receive(body, FORM), /disk full/)
  assert.deepEqual([body.isPaused(), body.destroyed, body.listenerCount('data')], [true, false, 0])
  body.destroy(new Error('a late error has no effect'))
  await new Promise((closed) => body.on('close', closed))
})

test('a form that breaks off while its file is written is malformed, however it is cut into pieces', async (t) => {
  const blobs = await openDiskBlobs(await temporaryFolder(t))
  const archives = createArchives({ blobs, limits: DEFAULT_ARCHIVE_LIMITS })
  for (const size of [1, 7, 50, 299]) {
    const pieces = async function* () {
      for (let at = 0; at < 300; at += size) {
        yield GOOD_FORM.subarray(at, Math.min(300, at + size))
        await new Promise(setImmediate)
      }
    }
    await assert.rejects(archives.receive(Readable.from(pieces()), FORM), { reason: 'MULTIPART_MALFORMED' })
  }
})

test('a body that broke before it was read is an interrupted upload', async (t) => {
  const blobs = await openDiskBlobs(await temporaryFolder(t))
  const archives = createArchives({ blobs, limits: DEFAULT_ARCHIVE_LIMITS })
  const body = new Readable({ read: () => undefined })
  body.destroy()
  await assert.rejects(archives.receive(body, FORM), { reason: 'UPLOAD_INTERRUPTED' })
})

test('an archive that is only looked at is not kept, however the look ends, and harms no archive that is', async (t) => {
  const folder = await temporaryFolder(t)
  const archives = createArchives({ blobs: await openDiskBlobs(folder), limits: DEFAULT_ARCHIVE_LIMITS })
  const kept = async () =>
    (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length
  const body = (bytes = GOOD_FORM) => Readable.from([bytes])
  const looks = Array.from({ length: 8 }, () => archives.inspect(body(), FORM, {}, async ({ files }) => files.length))
  assert.deepEqual(new Set(await Promise.all(looks)), new Set([3]))
  const fail = () => Promise.reject(new Problem('PLAN_FAILED'))
  await assert.rejects(archives.inspect(body(), FORM, {}, fail), { reason: 'PLAN_FAILED' })
  await assert.rejects(archives.inspect(body(GOOD_FORM.subarray(0, 300)), FORM, {}, fail), {
    reason: 'MULTIPART_MALFORMED',
  })
  assert.equal(await kept(), 0)
  const { digest } = await archives.receive(body(), FORM)
  await archives.inspect(body(), FORM, {}, async () => assert.equal(await archives.has(digest), true))
  assert.deepEqual([await kept(), await archives.has(digest)], [1, true])
})

test('what is refused while it arrives is not read to its end, and leaves nothing', async (t) => {
  const folder = await temporaryFolder(t)
  const archives = createArchives({ blobs: await openDiskBlobs(folder), limits: DEFAULT_ARCHIVE_LIMITS })
  const big = form(part(FILE_HEAD, writeZip([{ name: 'a', content: Buffer.alloc(4_000_000), method: 0 }])))
  let handedOut = 0
  const pieces = async function* () {
    for (let at = 0; at < big.length; at += 65_536) {
      handedOut += 1
      yield big.subarray(at, at + 65_536)
    }
  }
  const admit = async (bytes: number) => {
    if (bytes > 200_000) throw new Problem('QUOTA_EXCEEDED')
  }
  await assert.rejects(archives.receive(Readable.from(pieces()), FORM, { admit }), { reason: 'QUOTA_EXCEEDED' })
  assert.ok(handedOut < 30, `${handedOut} of 62 pieces were read`)
  const left = await readdir(folder, { recursive: true, withFileTypes: true })
  assert.deepEqual(
    left.filter((entry) => entry.isFile()),
    [],
  )
})

test('memory does not grow with the archive', async (t) => {
  const server = await startServer(t)
  // The first one brings the process to its usual size.
  await upload(server.port, 30_000_000)
  const before = process.memoryUsage.rss()
  let max = before
  const watch = setInterval(() => {
    max = Math.max(max, process.memoryUsage.rss())
  }, 5)
  t.after(() => clearInterval(watch))
  const { bytes } = await upload(server.port, 200_000_000)
  assert.ok((bytes ?? 0) > 200_000_000)
  const grownMb = (max - before) / 1_000_000
  assert.ok(grownMb < 40, `grew by ${grownMb} MB`)
})

/** Sends a form with a stored zip of that size, made while it goes. */
async function upload(port: number, size: number): Promise<ReceiveReply> {
  const content = Buffer.alloc(1_000_000)
  const skeleton = { name: 'a', method: 0, size, compressedSize: size, crc32: 0 }
  const head = writeZip([{ ...skeleton, packed: Buffer.alloc(0) }]).subarray(0, 31)
  const whole = writeZip([{ ...skeleton, packed: Buffer.alloc(0) }], { directoryOffset: 31 + size })
  const outgoing = request({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-type': FORM } })
  const response = once(outgoing, 'response')
  async function* body() {
    yield Buffer.from(`--${BOUNDARY}\r\n${FILE_HEAD}\r\n\r\n`)
    yield head
    for (let sent = 0; sent < size; sent += content.length) yield content
    yield whole.subarray(31)
    yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`)
  }
  await pipeline(body, outgoing)
  const [incoming] = await response
  const text = (await Array.fromAsync(incoming as AsyncIterable<Buffer>)).join('')
  return JSON.parse(text) as ReceiveReply
}

/** A connection on which the head of a request has been sent. */
async function open(t: TestContext, port: number, length: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  // It is cut off in some of the tests.
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(`POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${FORM}\r\n${length}\r\n\r\n`)
  return socket
}

/** The answer, as soon as it is there: the server hangs up while some of them still send. */
async function answerOf(socket: Socket): Promise<ReceiveReply> {
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    const [head = '', body = ''] = text.split('\r\n\r\n')
    if (body !== '' && head.includes(`content-length: ${Buffer.byteLength(body)}`))
      return JSON.parse(body) as ReceiveReply
  }
  throw new Error(`no answer: ${text}`)
}
