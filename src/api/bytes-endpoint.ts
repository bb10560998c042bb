/**
 * A route whose handler needs the body byte by byte, as it was signed, from callers that were written for other services. Its size
 * and time are bounded before anything is read.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../contract/index.ts'
import type { Route, RouteCall } from './route.ts'

const BODY_MS = 30_000

export function bytesEndpoint(app: FastifyInstance, url: string, route: Route & { takesBytes: number }) {
  app.route({
    method: route.method,
    url,
    config: { isInLedger: true },
    async onRequest(request, reply) {
      const body = await readBytes(request, route.takesBytes)
      const { params } = request
      const answer = await route.handle({ params, body, request, reply } as RouteCall<unknown, unknown>)
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer))
    },
    // Never reached: `onRequest` answers.
    handler: () => undefined,
  })
}

async function readBytes({ raw }: FastifyRequest, maxBytes: number): Promise<Buffer> {
  if (Number(raw.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const timer = setTimeout(() => raw.destroy(), BODY_MS)
  try {
    const chunks: Buffer[] = []
    let bytes = 0
    // A refusal leaves the request open, so that its answer can be sent.
    for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(timer)
  }
}

const tooLarge = (maxBytes: number) =>
  new Problem('BODY_TOO_LARGE', `The body has more than ${maxBytes.toLocaleString('en')} bytes.`)
