/**
 * Asks a running app for a page, as a visitor without cookies does, and past the edge. The app may be hostile: its headers, its
 * body and the time are limited, and no redirect is followed.
 */
import { type IncomingMessage, request } from 'node:http'
import { type Answer, type Ask, locationOf, noAnswer } from './answer.ts'
import { isHtml } from './compare.ts'

/** What is read of a body. */
export const MAX_BODY_BYTES = 1024 * 1024
/** As large as the edge takes them. */
const MAX_HEADER_BYTES = 64 * 1024

export type AppPlace = {
  host: string
  port: number
  /** Where visitors find it. */
  siteUrl: URL
  hosts: ReadonlySet<string>
}

export function askApp({ host, port, siteUrl, hosts }: AppPlace): Ask {
  return async (path, { signal, timeoutMs, isHead = false, keepsText = false }) => {
    signal.throwIfAborted()
    const began = performance.now()
    const late = AbortSignal.timeout(timeoutMs)
    const passed = () => performance.now() - began
    const asked = request({
      host,
      port,
      path,
      method: 'GET',
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      signal: AbortSignal.any([signal, late]),
      headers: {
        host: siteUrl.host,
        accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
        'accept-encoding': 'identity',
        'user-agent': 'headland-check',
        'x-forwarded-host': siteUrl.host,
        'x-forwarded-proto': siteUrl.protocol.slice(0, -1),
      },
    })
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        asked.once('response', resolve).on('error', reject).end()
      })
      const head = headOf(response, path, hosts)
      const body = isHead ? NOTHING_READ : await read(response, keepsText || isHtml(head), late)
      signal.throwIfAborted()
      return { ...head, ...body, milliseconds: passed() }
    } catch (error) {
      signal.throwIfAborted()
      return noAnswer(
        late.aborted ? `none within ${timeoutMs / 1000} s` : causeOf(error as NodeJS.ErrnoException),
        passed(),
      )
    } finally {
      asked.destroy()
    }
  }
}

const NOTHING_READ = { bytes: 0, end: 'WHOLE', problem: undefined, text: undefined } as const

function headOf({ statusCode = 0, headers }: IncomingMessage, path: string, hosts: ReadonlySet<string>) {
  const { 'content-type': type, location } = headers
  return {
    status: statusCode,
    contentType: mediaType(type),
    location: location === undefined ? undefined : locationOf(location, path, hosts),
  }
}

export const mediaType = (type: string | undefined): string | undefined => type?.split(';')[0]?.trim().toLowerCase()

type Body = Pick<Answer, 'bytes' | 'end' | 'problem' | 'text'>

async function read(response: IncomingMessage, keepsText: boolean, late: AbortSignal): Promise<Body> {
  const chunks: Buffer[] = []
  let bytes = 0
  const ended = (end: Answer['end'], problem?: string): Body => {
    const text = keepsText ? Buffer.concat(chunks).toString('utf8') : undefined
    return { bytes, end, problem, text }
  }
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (keepsText) chunks.push(chunk)
      if (bytes >= MAX_BODY_BYTES) return ended('TOO_LONG')
    }
    return ended('WHOLE')
  } catch {
    return late.aborted ? ended('TOO_SLOW', 'its body does not end') : ended('BROKEN_OFF', 'its body was broken off')
  }
}

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the app refused the connection',
  ECONNRESET: 'the app closed the connection',
  HPE_HEADER_OVERFLOW: `its headers are longer than ${MAX_HEADER_BYTES / 1024} KiB`,
}

const causeOf = ({ code = '' }: NodeJS.ErrnoException): string =>
  CAUSES[code] ?? (code.startsWith('HPE_') ? 'what it answers is no HTTP' : 'the connection failed')
