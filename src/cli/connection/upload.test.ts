import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createPlainServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Scope, temporaryFolder } from '../../../test/support/folder.ts'
import { TIMEOUT_MS } from '../../../test/support/until.ts'
import { createService } from './service.ts'
import { upload } from './upload.ts'

const ENVIRONMENT = 'accounts/a/apps/b/environments/c'
const UPLOAD_OPTIONS = {
  /** Of each upload, from its beginning. */
  get signal() {
    return AbortSignal.timeout(TIMEOUT_MS)
  },
  onProgress: () => undefined,
  pauseMs: 5,
}

async function archiveOf(t: Scope, bytes: number) {
  const path = join(await temporaryFolder(t), 'app.zip')
  await writeFile(path, Buffer.alloc(bytes, 'abcdefgh'))
  return { path, bytes }
}

type Handle = (request: IncomingMessage, response: ServerResponse, attempt: number) => void

async function serviceWith(t: Scope, handle: Handle) {
  let attempts = 0
  const server = createServer((request, response) => handle(request, response, ++attempts))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { service: createService(url, { userId: 'u', password: 'p' }), attempts: () => attempts }
}

const refusal = (reason: string) =>
  JSON.stringify({ error: { code: 413, message: `It is ${reason}.`, details: [{ reason }] } })

test('an archive arrives as one part of a form with a Content-Length, and progress rises to its size', async (t) => {
  const archive = await archiveOf(t, 1_000_000)
  const { service } = await serviceWith(t, async (request, response) => {
    const form = await new Response(request as never, { headers: request.headers as never }).formData()
    const part = form.get('repository') as File
    const { length } = Buffer.from(await part.arrayBuffer())
    response.end(JSON.stringify({ length, announced: request.headers['content-length'], path: request.url }))
  })
  const seen: number[] = []
  const onProgress = (sent: number, total: number) => seen.push(sent / total)
  const answer = await upload<Record<string, unknown>>(service, ENVIRONMENT, archive, { ...UPLOAD_OPTIONS, onProgress })
  assert.equal(answer.length, archive.bytes)
  assert.ok(Number(answer.announced) > archive.bytes)
  assert.equal(answer.path, `/fu/v1/${ENVIRONMENT}:upload`)
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  )
  assert.equal(seen.at(-1), 1)
})

test('a refusal that comes while the archive is being sent is read, and sending stops', async (t) => {
  const archive = await archiveOf(t, 40_000_000)
  let receivedBytes = 0
  const { service, attempts } = await serviceWith(t, (request, response) => {
    request.once('data', () => {
      response.writeHead(413, { connection: 'close' }).end(refusal('ARCHIVE_TOO_LARGE'))
    })
    request.on('data', ({ length }) => {
      receivedBytes += length
    })
  })
  await assert.rejects(upload(service, ENVIRONMENT, archive, UPLOAD_OPTIONS), {
    status: 413,
    reason: 'ARCHIVE_TOO_LARGE',
    exitCode: 1,
  })
  assert.equal(attempts(), 1)
  assert.ok(receivedBytes < archive.bytes)
})

test('a refusal is read from a connection that is closed at once, with the archive unread', async (t) => {
  const archive = await archiveOf(t, 40_000_000)
  // It answers, closes, and never reads on, so that further data is answered with a reset.
  const server = createPlainServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.pause()
      const body = refusal('QUOTA_EXCEEDED')
      socket.write(`HTTP/1.1 413 Too Large\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`, () =>
        socket.destroy(),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const service = createService(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, undefined)
  await assert.rejects(upload(service, ENVIRONMENT, archive, UPLOAD_OPTIONS), { reason: 'QUOTA_EXCEEDED' })
})

test('a connection that breaks before all was sent is opened again', async (t) => {
  const archive = await archiveOf(t, 5_000_000)
  const { service, attempts } = await serviceWith(t, (request, response, attempt) => {
    if (attempt < 3) request.once('data', () => request.destroy())
    else request.resume().once('end', () => response.end('{"name":"o"}'))
  })
  assert.deepEqual(await upload(service, ENVIRONMENT, archive, UPLOAD_OPTIONS), { name: 'o' })
  assert.equal(attempts(), 3)
})

test('a connection that breaks again and again is given up, as a fault of the service', async (t) => {
  const archive = await archiveOf(t, 5_000_000)
  const { service, attempts } = await serviceWith(t, (request) => request.once('data', () => request.destroy()))
  await assert.rejects(upload(service, ENVIRONMENT, archive, UPLOAD_OPTIONS), { reason: 'NO_ANSWER', exitCode: 3 })
  assert.equal(attempts(), 4)
})

test('an answer that is lost after all was sent is not asked for by sending again: it may have been taken', async (t) => {
  const archive = await archiveOf(t, 100_000)
  const { service, attempts } = await serviceWith(t, (request) => {
    request.resume().once('end', () => request.socket.destroy())
  })
  await assert.rejects(upload(service, ENVIRONMENT, archive, UPLOAD_OPTIONS), /has the whole archive.*headland builds/)
  assert.equal(attempts(), 1)
})

test('a service that is starting or stopping is asked again, and one that says no is not', async (t) => {
  const archive = await archiveOf(t, 1000)
  const { service, attempts } = await serviceWith(t, (request, response, attempt) => {
    request.resume().once('end', () => {
      if (attempt === 1) response.writeHead(503, { 'retry-after': '0' }).end(refusal('STOPPING'))
      else response.writeHead(404).end(refusal('ENVIRONMENT_NOT_FOUND'))
    })
  })
  await assert.rejects(upload(service, ENVIRONMENT, archive, UPLOAD_OPTIONS), {
    reason: 'ENVIRONMENT_NOT_FOUND',
    exitCode: 1,
  })
  assert.equal(attempts(), 2)
})

test('sending ends when its signal is aborted', async (t) => {
  const archive = await archiveOf(t, 5_000_000)
  const { service } = await serviceWith(t, () => undefined)
  const stop = new AbortController()
  const sending = upload(service, ENVIRONMENT, archive, {
    ...UPLOAD_OPTIONS,
    signal: stop.signal,
    onProgress: () => stop.abort(new Error('enough')),
  })
  await assert.rejects(sending, /enough/)
})

/** Sends a space now and then, until the client closes the connection. */
function drip(response: ServerResponse) {
  response.flushHeaders()
  const timer = setInterval(() => response.write(' '), 10)
  response.on('close', () => clearInterval(timer))
}

test('an answer to an upload that comes a byte at a time is given up, and nothing is sent twice', async (t) => {
  const archive = await archiveOf(t, 1000)
  const { service, attempts } = await serviceWith(t, (request, response) =>
    request.on('end', () => drip(response)).resume(),
  )
  const timeout = { ...UPLOAD_OPTIONS, answerMs: 500 }
  await assert.rejects(upload(service, ENVIRONMENT, archive, timeout), /has the whole archive, but its answer was lost/)
  assert.equal(attempts(), 1)
})

test('an answer that begins before the upload has ended, and does not end itself, is given up too', async (t) => {
  const archive = await archiveOf(t, 20_000_000)
  const { service } = await serviceWith(t, (request, response) => {
    drip(response)
    request.pause()
  })
  const timeout = { ...UPLOAD_OPTIONS, answerMs: 50 }
  await assert.rejects(upload(service, ENVIRONMENT, archive, timeout), { reason: 'NO_ANSWER' })
})

test('an upload that is not taken is given up', async (t) => {
  const archive = await archiveOf(t, 40_000_000)
  const { service } = await serviceWith(t, (request) => request.pause())
  const timeout = { ...UPLOAD_OPTIONS, stallMs: 100 }
  await assert.rejects(upload(service, ENVIRONMENT, archive, timeout), /it takes no more/)
})
