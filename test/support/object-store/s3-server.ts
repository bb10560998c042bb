/**
 * A small server that speaks S3 to one bucket, for tests. It checks every signature by itself, and can be told to fail. What it
 * does is compared with a real store by the suites that run on both.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import type { Scope } from '../folder.ts'
import { createBucket, failed } from './s3-bucket.ts'
import { parseRequest, type S3Request, signatureOf } from './s3-request.ts'

export const KEYS = { keyId: 'AKIATESTTESTTEST', secret: 'a/secret+of the=tests' }
export const BUCKET = 'headland-test'
const REGION = 'eu-test-1'
const MAX_SKEW_MS = 15 * 60_000

/** What happens instead of the answer, to the next request that it is for. */
export type Fault =
  | { kind: 'status'; status: number; code: string; retryAfter?: number }
  | { kind: 'reset' }
  /** Half of the answer, then the connection breaks. */
  | { kind: 'cut' }
  /** One byte of the answer is another one. */
  | { kind: 'flip' }
  | { kind: 'hang' }
  | { kind: 'delay'; ms: number }
  /** It is done, and the answer is lost. */
  | { kind: 'lost answer' }

type Planned = { fault: Fault; isFor: (request: S3Request) => boolean; left: number }

export type S3Server = Awaited<ReturnType<typeof startS3Server>>

export async function startS3Server(t: Scope, { pageSize = 1000, host = '127.0.0.1' } = {}) {
  const planned: Planned[] = []
  const seen: S3Request[] = []
  let skewMs = 0
  const now = () => Date.now() + skewMs
  const { objects, uploads, perform, forgetConditions } = createBucket({ pageSize, now })

  async function answer(raw: IncomingMessage, reply: ServerResponse) {
    const body = await buffer(raw)
    const request = parseRequest(raw, body)
    reply.setHeader('date', new Date(now()).toUTCString())
    seen.push(request)
    const plan = planned.find(({ isFor, left }) => left > 0 && isFor(request))
    if (plan) plan.left -= 1
    const fault = plan?.fault
    if (fault?.kind === 'delay') await wait(fault.ms)
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'reset') return raw.socket.resetAndDestroy()
    if (fault?.kind === 'status') {
      if (fault.retryAfter !== undefined) reply.setHeader('retry-after', fault.retryAfter)
      return refuse(reply, fault.status, fault.code)
    }
    const wrong = wrongWith(request)
    if (wrong) return refuse(reply, wrong.status, wrong.code)
    const { status, headers, content } = perform(request)
    if (fault?.kind === 'lost answer') return raw.socket.resetAndDestroy()
    reply.writeHead(status, { 'content-length': content.length, ...headers })
    if (request.method === 'HEAD') return reply.end()
    if (fault?.kind === 'cut') {
      reply.write(content.subarray(0, content.length / 2), () => raw.socket.destroy())
      return
    }
    reply.end(fault?.kind === 'flip' ? flipped(content) : content)
  }

  function wrongWith(request: S3Request): { status: number; code: string } | undefined {
    const { authorization, headers, body } = request
    if (!authorization || authorization.keyId !== KEYS.keyId) return { status: 403, code: 'InvalidAccessKeyId' }
    const sent = Date.parse((headers['x-amz-date'] ?? '').replace(/^(....)(..)(..T..)(..)(..)Z$/, '$1-$2-$3:$4:$5Z'))
    if (!(Math.abs(sent - now()) <= MAX_SKEW_MS)) return { status: 403, code: 'RequestTimeTooSkewed' }
    if (authorization.region !== REGION) return { status: 400, code: 'AuthorizationHeaderMalformed' }
    if (signatureOf(request, KEYS.secret) !== authorization.signature)
      return { status: 403, code: 'SignatureDoesNotMatch' }
    if (headers['x-amz-content-sha256'] !== createHash('sha256').update(body).digest('hex'))
      return { status: 400, code: 'XAmzContentSHA256Mismatch' }
    if (request.bucket !== BUCKET) return { status: 404, code: 'NoSuchBucket' }
    return undefined
  }

  const server = createServer((raw, reply) => {
    answer(raw, reply).catch((error) => raw.socket.destroy(error))
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  t.after(stop)

  async function stop() {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }

  return {
    endpoint: `http://${host}:${port}`,
    region: REGION,
    objects,
    uploads,
    seen,
    /** For the next requests that are meant; once unless `times` is given. */
    fail(fault: Fault, isFor: (request: S3Request) => boolean = () => true, times = 1) {
      planned.push({ fault, isFor, left: times })
    },
    recover: () => planned.splice(0),
    setSkew(ms: number) {
      skewMs = ms
    },
    forgetConditions,
    /** As if the machine of the store were gone: connections are refused. */
    stop,
    startAgain: () => new Promise<void>((resolve) => server.listen(port, host, resolve)),
  }
}

function refuse(reply: ServerResponse, status: number, code: string) {
  const { headers, content } = failed(status, code)
  reply.writeHead(status, { ...headers, 'content-length': content.length }).end(content)
}

function flipped(content: Buffer): Buffer {
  const copy = Buffer.from(content)
  const at = Math.floor(copy.length / 2)
  copy.writeUInt8((copy.readUInt8(at) ^ 1) & 0xff, at)
  return copy
}
