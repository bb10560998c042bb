/**
 * Sends a request to a site and prints the response, with the option letters of curl. The name of a site under `localhost` is
 * not resolved, so that it works where the system does not know such names.
 */
import { type ClientRequest, request as httpRequest, type IncomingMessage, STATUS_CODES } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { EXIT, optionText, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { createConnection } from '../connection/connection.ts'
import { noAnswer, unreachable } from '../connection/failures.ts'
import { findSite, lookupFor, type Site } from '../connection/site.ts'
import { readSmallFile } from '../project/small-files.ts'

/** The longest time in which a site may send nothing. */
const SILENCE_MS = 5 * 60_000
const MAX_BODY_BYTES = 64 * 1024 * 1024

export async function curl(call: ClientCall): Promise<number> {
  const { options, positionals, terminal, environment } = call
  const asked = await readRequest(call)
  const site = await findSite(call, positionals[0])
  const connection = createConnection(site.url.origin, environment.proxies)
  try {
    const answer = await answerOf(site, { ...asked, agent: connection.agent }).catch((error) => {
      throw error instanceof UsageError ? error : unreachable(site.url.origin, error, connection.proxy)
    })
    if (options.include || options.head) terminal.print(headOf(answer))
    await printBody(call, answer, site)
    const isError = (answer.statusCode ?? 0) >= 400
    return options.fail && isError ? EXIT.caller : EXIT.done
  } finally {
    connection.agent.destroy()
  }
}

async function printBody({ terminal }: ClientCall, answer: IncomingMessage, { url }: Site) {
  try {
    for await (const piece of answer) await terminal.write(piece)
  } catch (error) {
    const { message } = error as Error
    throw noAnswer(`${url.origin} broke off in the middle of its answer: ${message}. Ask again.`)
  }
}

type SiteRequest = { method: string; headers: Record<string, string | string[]>; body: Buffer | undefined }

async function readRequest(call: ClientCall): Promise<SiteRequest> {
  const { options } = call
  const pieces = await Promise.all(((options.data ?? []) as string[]).map((text) => dataIn(call, text)))
  const body = pieces.length === 0 ? undefined : joined(pieces)
  if (options.head && body) throw new UsageError('--head asks for the head alone: leave --data away, or --head')
  const headers: Record<string, string | string[]> = { accept: '*/*', 'user-agent': 'headland' }
  if (body) headers['content-type'] = 'application/x-www-form-urlencoded'
  for (const [name, value] of ((options.header ?? []) as string[]).map(headerIn)) {
    const before = GIVEN_ONCE.has(name) ? undefined : headers[name]
    headers[name] = before === undefined ? value : [before, value].flat()
  }
  const method = optionText(options, 'request') ?? (options.head ? 'HEAD' : body ? 'POST' : 'GET')
  return { method, headers, body }
}

/** Headers with a default: a given value replaces it, and is not added to it. */
const GIVEN_ONCE = new Set(['accept', 'user-agent', 'content-type', 'host'])

function headerIn(text: string): [name: string, value: string] {
  const [, name, value] = /^([^:\s]+):[ \t]*(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new UsageError(`'${text}' is no header: --header 'Name: value', as in --header 'Accept: text/html'`)
  return [name.toLowerCase(), value]
}

/** `@file` is the content of a file, and `@-` that of stdin. */
async function dataIn({ folder }: ClientCall, text: string): Promise<Buffer> {
  if (!text.startsWith('@')) return Buffer.from(text)
  if (text === '@-') return buffer(process.stdin)
  const found = await readSmallFile(resolve(folder, text.slice(1)), { maxBytes: MAX_BODY_BYTES, followsLinks: true })
  if (!found) throw new UsageError(`there is no file ${text.slice(1)}`)
  return found.content
}

/** As the fields of a form. */
const joined = (pieces: readonly Buffer[]): Buffer =>
  Buffer.concat(pieces.flatMap((piece, index) => (index === 0 ? [piece] : [Buffer.from('&'), piece])))

function answerOf(
  site: Site,
  { body, ...options }: SiteRequest & { agent: ReturnType<typeof createConnection>['agent'] },
) {
  const { url } = site
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  const lookup = lookupFor(site)
  return new Promise<IncomingMessage>((answered, failed) => {
    const request = begin(() => send(url, { ...options, ...(lookup ? { lookup } : {}) }))
    request.setTimeout(SILENCE_MS, () => request.destroy(new Error(`it sent nothing for ${SILENCE_MS / 1000} s`)))
    request.once('response', answered).on('error', failed)
    request.end(body)
  })
}

/** Node refuses an invalid method or header before anything is sent. */
function begin(start: () => ClientRequest): ClientRequest {
  try {
    return start()
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function headOf({ httpVersion, statusCode = 0, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/${httpVersion} ${statusCode} ${statusMessage || STATUS_CODES[statusCode] || ''}`.trimEnd()]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
  }
  return [...lines, ''].join('\n')
}
