/** What a client can do wrong with an upload: it gets a response with a reason, and nothing is left behind. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, test } from 'node:test'
import { crc32 } from 'node:zlib'
import type { resources } from '../../../src/contract/index.ts'
import { openRaw } from '../../support/edge/raw.ts'
import { deploy, nodeServer, page, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { type Login, startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'
import { entryOf, writeZip, zipOf } from '../../support/zip.ts'

const LIMITS = { archiveBytes: 20_000, entries: 50, unpackedBytes: 100_000 }

/** Every upload to this environment is invalid, so it must stay empty. */
const strict = await startService(
  { after },
  {
    settings: {
      HEADLAND_ARCHIVE_BYTES: String(LIMITS.archiveBytes),
      HEADLAND_ARCHIVE_ENTRIES: String(LIMITS.entries),
      HEADLAND_UNPACKED_BYTES: String(LIMITS.unpackedBytes),
      HEADLAND_UPLOAD_STALL: '1',
    },
  },
)
const strictly = await strict.login()
const wary = await createEnvironment(strict, strictly)

const service = await startService({ after })
const as = await service.login()

const pathOf = ({ name }: resources.Environment): string => `/fu/v1/${name}:upload`
const authorization = ({ userId, password }: Login): string => `Basic ${btoa(`${userId}:${password}`)}`

const BOUNDARY = 'a-boundary'
const FORM = `multipart/form-data; boundary=${BOUNDARY}`
const FILE_HEAD = 'Content-Disposition: form-data; name="repository"; filename="app.zip"'
const HEAD = Buffer.from(`--${BOUNDARY}\r\n${FILE_HEAD}\r\n\r\n`)
const END = Buffer.from(`\r\n--${BOUNDARY}--\r\n`)

const part = (head: string, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`--${BOUNDARY}\r\n${head}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')])
const form = (...parts: Buffer[]): Buffer => Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)])
const formWith = (zip: Buffer): Buffer => form(part(FILE_HEAD, zip))

const GOOD = zipOf({ 'index.html': '<h1>' })
const good = entryOf('index.html', '<h1>')

/** Files of the store: complete ones, and those that are still being written. */
async function filesOf({ dataDir }: TestService): Promise<string[]> {
  const found = await readdir(join(dataDir, 'blobs'), { recursive: true, withFileTypes: true })
  return found.filter((entry) => entry.isFile()).map(({ name }) => name)
}

/**
 * True if the upload left nothing behind: no file, no build, and no operation but the one that created the environment.
 */
async function leftNothing() {
  assert.deepEqual(await filesOf(strict), [])
  assert.deepEqual(await readdir(join(strict.dataDir, 'blobs')), ['aside'])
  const { json: builds } = await strict.call(`/v1/${wary.name}/builds`, { as: strictly })
  assert.deepEqual(builds.builds, [])
  const { json: operations } = await strict.call(`/v1/${wary.name}/operations`, { as: strictly })
  assert.deepEqual(
    operations.operations.map(({ metadata }: resources.Operation) => metadata.trigger),
    ['CREATE'],
  )
}

type Refusal = {
  body: Buffer | string
  type?: string
  status?: number
  reason: string
  /** The expected metadata of the response. */
  metadata?: Record<string, string>
}

const REFUSALS: Record<string, Refusal> = {
  'a body that is no form': { body: GOOD, type: 'application/zip', status: 415, reason: 'CONTENT_TYPE_UNSUPPORTED' },
  'a JSON body': { body: '{}', type: 'application/json', status: 415, reason: 'CONTENT_TYPE_UNSUPPORTED' },
  'a form without a boundary': {
    body: formWith(GOOD),
    type: 'multipart/form-data',
    status: 415,
    reason: 'CONTENT_TYPE_UNSUPPORTED',
  },
  'a form without a part': { body: form(), reason: 'PART_MISSING' },
  'a part that is not a file': {
    body: form(part('Content-Disposition: form-data; name="repository"', GOOD)),
    reason: 'PART_MISSING',
  },
  'a part with another name': {
    body: form(part('Content-Disposition: form-data; name="file"; filename="app.zip"', GOOD)),
    reason: 'PART_UNEXPECTED',
  },
  'a second part': {
    body: form(part(FILE_HEAD, GOOD), part('Content-Disposition: form-data; name="more"', 'x')),
    reason: 'PART_UNEXPECTED',
  },
  'a second part of the same name': {
    body: form(part(FILE_HEAD, GOOD), part(FILE_HEAD, GOOD)),
    reason: 'PART_UNEXPECTED',
  },
  'a form that has no end': { body: part(FILE_HEAD, GOOD), reason: 'MULTIPART_MALFORMED' },
  'a file that is not a zip': { body: formWith(Buffer.from('hello')), reason: 'ARCHIVE_NOT_ZIP' },
  'half a zip': { body: formWith(GOOD.subarray(0, GOOD.length / 2)), reason: 'ARCHIVE_NOT_ZIP' },
  'a zip of nothing': { body: formWith(writeZip([])), reason: 'ARCHIVE_EMPTY' },
  'a zip of node_modules alone': {
    body: formWith(zipOf({ 'node_modules/a/index.js': '' })),
    reason: 'ARCHIVE_EMPTY',
  },
  'a name that leads out of the archive': {
    body: formWith(writeZip([good, entryOf('../../etc/cron.d/evil', 'x')])),
    reason: 'ARCHIVE_ENTRY_UNSAFE',
    metadata: { entry: '../../etc/cron.d/evil' },
  },
  'an absolute name': {
    body: formWith(writeZip([good, entryOf('/etc/passwd', 'x')])),
    reason: 'ARCHIVE_ENTRY_UNSAFE',
    metadata: { entry: '/etc/passwd' },
  },
  'a link that leads out of the archive': {
    body: formWith(writeZip([good, entryOf('assets/up', { link: '../../../etc' })])),
    reason: 'ARCHIVE_ENTRY_UNSAFE',
    metadata: { entry: 'assets/up' },
  },
  'a device': {
    body: formWith(writeZip([good, { name: 'disk', content: '', mode: 0o060644 }])),
    reason: 'ARCHIVE_ENTRY_UNSAFE',
    metadata: { entry: 'disk' },
  },
  'an encrypted entry': {
    body: formWith(writeZip([good, { name: 'secret', content: 'x', flags: 0x801 }])),
    reason: 'ARCHIVE_ENCRYPTED',
    metadata: { entry: 'secret' },
  },
  'a pair of names that differ in case only': {
    body: formWith(writeZip([entryOf('README', 'x'), entryOf('readme', 'x')])),
    reason: 'ARCHIVE_ENTRY_DUPLICATE',
    metadata: { entry: 'readme' },
  },
  'an entry that lies about its size': {
    body: formWith(writeZip([good, { name: 'liar', content: 'x', method: 0, size: 2 }])),
    reason: 'ARCHIVE_SIZE_LIES',
    metadata: { entry: 'liar' },
  },
  'an archive of too many bytes': {
    body: formWith(zipOf({ 'a.bin': randomBytes(LIMITS.archiveBytes) })),
    status: 413,
    reason: 'ARCHIVE_TOO_LARGE',
    metadata: { what: 'archiveBytes', limit: String(LIMITS.archiveBytes) },
  },
  'an archive of too many bytes by far': {
    body: formWith(randomBytes(5_000_000)),
    status: 413,
    reason: 'ARCHIVE_TOO_LARGE',
    metadata: { what: 'archiveBytes', limit: String(LIMITS.archiveBytes) },
  },
  'an archive of too many entries': {
    body: formWith(
      zipOf(Object.fromEntries(Array.from({ length: LIMITS.entries + 1 }, (_, index) => [`${index}`, '']))),
    ),
    status: 413,
    reason: 'ARCHIVE_TOO_LARGE',
    metadata: { what: 'entries', limit: String(LIMITS.entries) },
  },
  'an archive of too many bytes when unpacked': {
    body: formWith(zipOf({ 'zeros.bin': Buffer.alloc(LIMITS.unpackedBytes + 1) })),
    status: 413,
    reason: 'ARCHIVE_TOO_LARGE',
    metadata: { what: 'unpackedBytes', limit: String(LIMITS.unpackedBytes), entry: 'zeros.bin' },
  },
  'a name that is too long': {
    body: formWith(writeZip([good, entryOf(`${'a/'.repeat(512)}a`, 'x')])),
    status: 413,
    reason: 'ARCHIVE_TOO_LARGE',
    metadata: { what: 'pathBytes', limit: '1024', entry: 'a/'.repeat(100) },
  },
}

for (const [what, { body, type = FORM, status = 400, reason, metadata }] of Object.entries(REFUSALS)) {
  test(`${what} is refused with ${reason} and leaves nothing`, async () => {
    const answer = await strict.call(pathOf(wary), {
      method: 'POST',
      as: strictly,
      body,
      headers: { 'content-type': type },
    })
    assert.deepEqual([answer.status, answer.reason], [status, reason], answer.text)
    const [info] = answer.json.error.details
    assert.deepEqual({ ...info.metadata, ...metadata }, info.metadata)
    await leftNothing()
  })
}

test('an upload without a body is refused and leaves nothing', async () => {
  const answer = await strict.call(pathOf(wary), { method: 'POST', as: strictly })
  assert.deepEqual([answer.status, answer.reason], [415, 'CONTENT_TYPE_UNSUPPORTED'])
  await leftNothing()
})

test('an upload whose declared length is too large is refused before it is sent', async () => {
  const connection = openRaw(strict.api)
  const basic = btoa(`${strictly.userId}:${strictly.password}`)
  connection.send(
    [
      `POST ${pathOf(wary)} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Basic ${basic}`,
      'Content-Type: multipart/form-data; boundary=b',
      'Content-Length: 536870912',
      '\r\n',
    ].join('\r\n'),
  )
  const { status, body } = await connection.answer()
  connection.end()
  assert.deepEqual([status, JSON.parse(body).error.details[0].reason], [413, 'ARCHIVE_TOO_LARGE'])
})

test('an upload to an environment that is not there is refused before it is read', async () => {
  const path = pathOf(wary).replace(/[0-9a-f-]{36}/, '0190c0de-0000-7000-8000-000000000000')
  const { socket, answer } = await beginUpload(strict, strictly, path)
  assert.match(await answer, /^HTTP\/1\.1 404 [\s\S]*ENVIRONMENT_NOT_FOUND/)
  socket.destroy()
  await leftNothing()
})

/**
 * The first half of an upload, over a connection of its own. `answer` is everything until the service closes the
 * connection.
 */
async function beginUpload(
  to: TestService,
  login: Login,
  path: string,
): Promise<{ socket: Socket; answer: Promise<string> }> {
  const { hostname, port, host } = new URL(to.api)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const answer = new Promise<string>((resolve) => {
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      text += chunk
      if (/\r\n\r\n[\s\S]*\}$/.test(text)) resolve(text)
    })
    socket.on('error', () => resolve(text))
    socket.on('close', () => resolve(text))
  })
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization(login)}\r\n` +
      `content-type: ${FORM}\r\ncontent-length: ${HEAD.length + 10_000 + END.length}\r\n\r\n`,
  )
  socket.write(Buffer.concat([HEAD, randomBytes(5000)]))
  return { socket, answer }
}

const isBeingWritten = async () => (await filesOf(strict)).length === 1
const isGone = async () => (await filesOf(strict)).length === 0

test('a client that goes away half-way leaves nothing, and that is no fault of the service', async () => {
  const { socket } = await beginUpload(strict, strictly, pathOf(wary))
  await until(isBeingWritten)
  socket.destroy()
  await until(isGone)
  await leftNothing()
  assert.doesNotMatch(strict.log(), /"level":"(error|fatal)"/)
})

test('a client that stops sending gets 408, is disconnected and leaves nothing', async () => {
  const { socket, answer } = await beginUpload(strict, strictly, pathOf(wary))
  const text = await answer
  assert.match(text, /^HTTP\/1\.1 408 /)
  assert.match(text, /"reason":"UPLOAD_TOO_SLOW"/)
  assert.match(text, /^connection: close\r$/im)
  if (!socket.closed) await once(socket, 'close')
  await leftNothing()
})

type Kept = { status: number; text: string; socket: Socket; isReused: boolean }

/** Sends a request over the agent's connection, and returns which one it was. */
function ask(agent: Agent, path: string, body?: Buffer): Promise<Kept> {
  const { hostname, port } = new URL(strict.api)
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        ...{ host: hostname, port, path, agent, method: body ? 'POST' : 'GET' },
        headers: {
          authorization: authorization(strictly),
          ...(body ? { 'content-type': FORM, 'content-length': body.length } : {}),
        },
      },
      async (response: IncomingMessage) => {
        const { socket } = response
        const text = Buffer.concat(await response.toArray()).toString()
        resolve({ status: response.statusCode ?? 0, text, socket, isReused: asked.reusedSocket })
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })
}

const REFUSED_ON_THE_WAY: [what: string, path: string, body: Buffer, status: number][] = [
  ['after all of it was read', pathOf(wary), formWith(Buffer.from('no zip')), 400],
  ['in the middle of it', pathOf(wary), formWith(randomBytes(3_000_000)), 413],
  ['before it was read', `${pathOf(wary)}?unknown=1`, formWith(randomBytes(3_000_000)), 400],
]

for (const [when, path, body, status] of REFUSED_ON_THE_WAY) {
  test(`an upload that is refused ${when} does not break the next request on its connection`, async (t) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    const refused = await ask(agent, path, body)
    assert.equal(refused.status, status, refused.text)
    const next = await ask(agent, '/v1/accounts')
    assert.equal(next.status, 200, next.text)
    assert.equal(JSON.parse(next.text).accounts.length, 1)
    assert.deepEqual([next.isReused, next.socket === refused.socket], [true, true])
    await leftNothing()
  })
}

test('an upload to an environment that is being deleted is refused', async (t) => {
  const environment = await createEnvironment(service, as)
  // A visitor whose request is not answered delays the deletion of the environment.
  const waits = `
    if (request.url === '/slow') return (globalThis.waiting = true)
    if (request.url === '/waiting') return response.end(String(globalThis.waiting))`
  await deploy(service, as, environment.name, nodeServer('up', waits))
  const { hostname, port } = new URL(service.edge)
  const slow = request({
    host: hostname,
    port,
    path: '/slow',
    agent: false,
    headers: { host: new URL(environment.url).host },
  })
  slow.on('error', () => undefined).end()
  t.after(() => slow.destroy())
  await until(async () => (await siteAnswer(service, environment.url, '/waiting')).text === 'true')
  const deleting = await service.call(`/v1/${environment.name}`, { method: 'DELETE', as })
  const refused = await upload(service, as, environment.name, page('too late'))
  assert.deepEqual([refused.status, refused.reason], [400, 'ENVIRONMENT_DELETING'])
  slow.destroy()
  assert.equal((await untilDone(service, as, deleting.json.name)).error, undefined)
})

const buildLog = async ({ metadata }: resources.Operation): Promise<string> =>
  (await service.call(`/v1/${metadata.build}/log`, { as })).text

test('an archive with one folder around everything is deployed without it', async () => {
  const { name, url } = await createEnvironment(service, as)
  const done = await deploy(service, as, name, {
    'site-main/': '',
    'site-main/index.html': '<h1>inside</h1>',
    'site-main/assets/': '',
    'site-main/assets/a.txt': 'an asset',
  })
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  assert.equal((await siteAnswer(service, url)).text, '<h1>inside</h1>')
  assert.equal((await siteAnswer(service, url, '/assets/a.txt')).text, 'an asset')
  assert.equal((await siteAnswer(service, url, '/site-main/')).status, 404)
  assert.match(await buildLog(done), /The top folder site-main was removed\./)
})

test('node_modules and .git of an archive are skipped, at every depth, and the log says so', async () => {
  const { name, url } = await createEnvironment(service, as)
  const done = await deploy(service, as, name, {
    'index.html': '<h1>',
    '.git/config': 'x',
    'node_modules/a/index.js': 'x',
    'node_modules/a/package.json': 'x',
    'docs/node_modules/b.js': 'x',
  })
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  for (const path of ['/node_modules/a/index.js', '/docs/node_modules/b.js', '/.git/config']) {
    assert.equal((await siteAnswer(service, url, path)).status, 404, path)
  }
  const log = await buildLog(done)
  assert.match(log, /Skipped node_modules \(3 entries\)\./)
  assert.match(log, /Skipped \.git \(1 entries\)\./)
})

test('two uploads at once to two environments both go live', async () => {
  const environments = [await createEnvironment(service, as), await createEnvironment(service, as)]
  const ends = await Promise.all(
    environments.map(({ name }, index) => deploy(service, as, name, page(`number ${index}`))),
  )
  assert.deepEqual(
    ends.map(({ error }) => error),
    [undefined, undefined],
  )
  for (const [index, { url }] of environments.entries()) {
    assert.match((await siteAnswer(service, url)).text, new RegExp(`number ${index}`))
  }
})

const MIB = 1024 ** 2
const LARGE = { mebibytes: 100, maxGrowthMebibytes: 60 }

/** A zip with one large stored file, a piece at a time. */
function largeZip(name: string, piece: Buffer, pieces: number): { zip: () => Iterable<Buffer>; bytes: number } {
  let sum = 0
  for (let count = 0; count < pieces; count++) sum = crc32(piece, sum)
  const size = piece.length * pieces
  const header = { name, method: 0, crc32: sum, size, compressedSize: size, packed: Buffer.alloc(0) }
  // The headers are those of a zip with the file; only its data is left out, and is inserted between them.
  const around = writeZip([good, header])
  const headLength = writeZip([good]).length - directoryLength([good]) + 30 + name.length
  const end = around.subarray(headLength)
  end.writeUInt32LE(headLength + size, end.length - 6)
  return {
    bytes: around.length + size,
    *zip() {
      yield around.subarray(0, headLength)
      for (let count = 0; count < pieces; count++) yield piece
      yield end
    },
  }
}

/** The directory and its end: everything after the last file. */
const directoryLength = (entries: Parameters<typeof writeZip>[0]): number => {
  const zip = writeZip(entries)
  return zip.length - zip.readUInt32LE(zip.length - 6)
}

/** A field of the kernel's record of a process, in bytes. */
async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const [, kilobytes] =
    new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

test(`an upload of ${LARGE.mebibytes} MiB goes live, and costs less than ${LARGE.maxGrowthMebibytes} MiB of memory`, async () => {
  const { name, url } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, name, page('small'))).error, undefined)
  const piece = randomBytes(MIB)
  const { zip, bytes } = largeZip('large.bin', piece, LARGE.mebibytes)
  const { hostname, port } = new URL(service.api)

  // Resets the peak that the kernel records.
  await writeFile(`/proc/${service.controlPid()}/clear_refs`, '5')
  const before = await memoryOf(service.controlPid(), 'VmRSS')
  const asked = request({
    ...{ host: hostname, port, method: 'POST', path: `/fu/v1/${name}:upload` },
    headers: {
      authorization: authorization(as),
      'content-type': FORM,
      'content-length': HEAD.length + bytes + END.length,
    },
  })
  const answered: Promise<IncomingMessage[]> = once(asked, 'response')
  await pipeline(Readable.from([HEAD, ...zip(), END]), asked)
  const [response] = await answered
  assert.ok(response)
  const text = Buffer.concat(await response.toArray()).toString()
  assert.equal(response.statusCode, 200, text)
  const done = await untilDone(service, as, JSON.parse(text).name)
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  const growth = (await memoryOf(service.controlPid(), 'VmHWM')) - before
  assert.ok(growth < LARGE.maxGrowthMebibytes * MIB, `it grew by ${Math.round(growth / MIB)} MiB`)

  const whole = createHash('sha256')
  for (let count = 0; count < LARGE.mebibytes; count++) whole.update(piece)
  assert.equal(await digestOfSite(url, '/large.bin'), whole.digest('hex'))
})

async function digestOfSite(url: string, path: string): Promise<string> {
  const { hostname, port } = new URL(service.edge)
  const asked = request({ host: hostname, port, path, agent: false, headers: { host: new URL(url).host } }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const hash = createHash('sha256')
  for await (const chunk of response) hash.update(chunk)
  return hash.digest('hex')
}
