import assert from 'node:assert/strict'
import { fstatSync, openSync, writeFileSync } from 'node:fs'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { type OpenPart, sendPart } from './send-part.ts'

const BYTES = 300 * 1024
/** No two pieces are the same. */
const CONTENT = Buffer.from(Uint32Array.from({ length: BYTES / 4 }, (_, at) => at).buffer)

async function fileIn(t: TestContext): Promise<string> {
  const path = join(await temporaryFolder(t), 'file')
  writeFileSync(path, CONTENT)
  return path
}

/** Sends what `partOf` opens. `sent` has the outcome of each response. */
async function startServer(t: TestContext, partOf: () => OpenPart) {
  const sent: Promise<void>[] = []
  const server = createServer((_, response) => {
    const part = partOf()
    response.writeHead(200, { 'content-length': part.end - part.start })
    const outcome = sendPart(part, response)
    outcome.catch(() => response.destroy())
    sent.push(outcome)
  })
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    sent,
    ask: () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        get({ port, host: '127.0.0.1', agent: false }, resolve).on('error', reject)
      }),
  }
}

test('many clients at a time get the part, each its own bytes', async (t) => {
  const path = await fileIn(t)
  let asked = 0
  const parts = Array.from({ length: 40 }, (_, at) => [at * 1000 + 1, CONTENT.length - at * 3] as const)
  const partOf = () => {
    const [start, end] = parts[asked++] as (typeof parts)[number]
    return { descriptor: openSync(path, 'r'), start, end }
  }
  const server = await startServer(t, partOf)
  const responses = await Promise.all(parts.map(() => server.ask()))
  // They were opened in the order of their arrival, which may be another one.
  const bodies = await Promise.all(responses.map((response) => buffer(response)))
  const expected = new Map(parts.map(([start, end]) => [end - start, CONTENT.subarray(start, end)]))
  for (const body of bodies) {
    assert.ok(expected.get(body.length)?.equals(body), `the part of ${body.length} bytes`)
    expected.delete(body.length)
  }
  await Promise.all(server.sent)
  assert.equal(expected.size, 0)
})

test('the file is closed when the client leaves in the middle', async (t) => {
  const path = await fileIn(t)
  const descriptor = openSync(path, 'r')
  const server = await startServer(t, () => ({ descriptor, start: 0, end: CONTENT.length }))
  const response = await server.ask()
  response.destroy()
  await server.sent[0]
  assert.throws(() => fstatSync(descriptor), { code: 'EBADF' })
})

test('a file that is shorter than it was ends the connection', async (t) => {
  const path = await fileIn(t)
  const end = CONTENT.length + 1
  const server = await startServer(t, () => ({ descriptor: openSync(path, 'r'), start: 0, end }))
  const response = await server.ask()
  await assert.rejects(buffer(response), { code: 'ECONNRESET' })
  await assert.rejects(server.sent[0] as Promise<void>, /shorter/)
})
