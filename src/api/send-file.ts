/** Sends a file from memory, compressed as the client accepts it, or 304 if the client has it already. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PortalFile } from '../portal/index.ts'

export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: PortalFile,
  headers: Readonly<Record<string, string>>,
) {
  const encoding = chooseEncoding(request.headers['accept-encoding'], file)
  const etag = `"${file.digest}-${encoding}"`
  reply.headers(headers)
  reply.headers({
    etag,
    vary: 'accept-encoding',
    'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  })
  if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send()
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(file.type).send(file.forms[encoding])
}

function chooseEncoding(accepted: string | undefined, { forms }: PortalFile): 'br' | 'gzip' | 'identity' {
  const wanted = new Set(
    (accepted ?? '')
      .toLowerCase()
      .split(',')
      .filter((part) => !/;\s*q\s*=\s*0(?:\.0*)?\s*$/.test(part))
      .map((part) => part.split(';', 1)[0]?.trim()),
  )
  return (['br', 'gzip'] as const).find((encoding) => forms[encoding] && wanted.has(encoding)) ?? 'identity'
}
