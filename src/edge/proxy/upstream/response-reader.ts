/**
 * Parses one HTTP/1.1 response (RFC 9112). It is strict: a malformed response is refused, because a wrong guess of
 * where it ends would give the rest of it to another client.
 *
 *   head      the status line and the headers are not complete yet; after an interim response it stays in this state
 *   length    a body of known length
 *   chunked   a body in chunks, with its own states below
 *   untilEnd  a body that ends with the connection
 *   done      final; further bytes belong to no response
 */
import { trimBlanks } from '../../../http/index.ts'
import { remembering, toLower } from '../../http/remember.ts'

export type Head = {
  status: number
  reason: string
  /** `[name, value, name, value, …]`, as received. */
  headers: string[]
}

export type ResponseHandler = {
  interim(head: Head): void
  /** `length` is the length of the body, where it is known. */
  head(head: Head, length: number | undefined): void
  data(chunk: Buffer): void
}

export type ResponseReader = {
  /** Parses the next bytes and returns whether the response is complete. Throws `Malformed`. */
  read(chunk: Buffer): boolean
  /** The instance has closed the connection. Throws `Malformed` when the response is incomplete. */
  end(): boolean
  /** Whether another response may follow on this connection. Known once this one is complete. */
  isReusable(): boolean
  /** What the trailer of a chunked body says of the content, where it does. */
  content(): string | undefined
  /** How long the instance keeps an idle connection, where it announced that. */
  keepAliveMs(): number | undefined
}

export class Malformed extends Error {}

type Options = { method: string; maxHeaderBytes: number }

const MAX_HEADERS = 256
/** They are forwarded immediately, even to a client that reads slowly. */
const MAX_INTERIMS = 32
/** A chunk-size line, including chunk extensions. */
const CHUNK_LINE_BYTES = 4096

export function createResponseReader(handler: ResponseHandler, { method, maxHeaderBytes }: Options): ResponseReader {
  let state: 'head' | 'length' | 'chunked' | 'untilEnd' | 'done' = 'head'
  /** The beginning of a head, or of a line of the chunked coding, that is not complete yet. */
  let rest: Buffer | undefined
  let leftBytes = 0
  let chunkPart: 'size' | 'data' | 'dataEnd' | 'trailers' = 'size'
  let trailerBytes = 0
  let content: string | undefined
  let interims = 0
  let mayFollow = true
  let keepAliveMs: number | undefined

  function read(given: Buffer): boolean {
    let chunk = given
    while (chunk.length > 0) {
      switch (state) {
        case 'head':
          chunk = readHead(chunk)
          break
        case 'length':
          chunk = readLength(chunk)
          break
        case 'chunked':
          chunk = readChunked(chunk)
          break
        case 'untilEnd':
          handler.data(chunk)
          return false
        case 'done':
          // Bytes after the response: the connection cannot be trusted with another request.
          mayFollow = false
          return true
      }
    }
    return isDone()
  }

  // A function, because TypeScript does not see that the steps above change the state.
  const isDone = (): boolean => state === 'done'

  function readHead(chunk: Buffer): Buffer {
    const bytes = rest ? Buffer.concat([rest, chunk]) : chunk
    const end = bytes.indexOf('\r\n\r\n')
    if ((end < 0 ? bytes.length : end) > maxHeaderBytes) throw new Malformed('the headers are too long')
    if (end < 0) {
      rest = bytes
      return NOTHING
    }
    rest = undefined
    const head = parseHead(bytes.toString('latin1', 0, end))
    const after = bytes.subarray(end + 4)
    if (head.status === 101) throw new Malformed('it changed the protocol without being asked')
    if (head.status < 200) {
      if (++interims > MAX_INTERIMS) throw new Malformed('too many interim responses')
      handler.interim(head)
      return after
    }
    frame(head)
    return after
  }

  /** Where the body ends (RFC 9112, section 6.3). */
  function frame(head: ParsedHead) {
    const found = readFraming(head)
    mayFollow = found.isPersistent
    keepAliveMs = found.keepAliveMs
    const hasNoBody = method === 'HEAD' || head.status === 204 || head.status === 304
    if (hasNoBody) state = 'done'
    else if (found.isChunked) state = 'chunked'
    else if (found.length === undefined) {
      state = 'untilEnd'
      mayFollow = false
    } else {
      state = found.length === 0 ? 'done' : 'length'
      leftBytes = found.length
    }
    handler.head(head, hasNoBody ? 0 : found.isChunked ? undefined : found.length)
  }

  function readLength(chunk: Buffer): Buffer {
    const taken = chunk.length > leftBytes ? chunk.subarray(0, leftBytes) : chunk
    leftBytes -= taken.length
    if (leftBytes === 0) state = 'done'
    handler.data(taken)
    return taken.length === chunk.length ? NOTHING : chunk.subarray(taken.length)
  }

  function readChunked(chunk: Buffer): Buffer {
    if (chunkPart === 'data') {
      const taken = chunk.length > leftBytes ? chunk.subarray(0, leftBytes) : chunk
      leftBytes -= taken.length
      if (leftBytes === 0) chunkPart = 'dataEnd'
      handler.data(taken)
      return chunk.subarray(taken.length)
    }
    const bytes = rest ? Buffer.concat([rest, chunk]) : chunk
    const end = bytes.indexOf('\r\n')
    if (end < 0) {
      const max = chunkPart === 'trailers' ? maxHeaderBytes : CHUNK_LINE_BYTES
      if (bytes.length > max) throw new Malformed('a line of the chunked body is too long')
      rest = bytes
      return NOTHING
    }
    rest = undefined
    readChunkLine(bytes.toString('latin1', 0, end))
    return bytes.subarray(end + 2)
  }

  function readChunkLine(line: string) {
    switch (chunkPart) {
      case 'size': {
        const [, size] = CHUNK_SIZE.exec(line) ?? []
        if (size === undefined) throw new Malformed('a chunk without a valid size')
        leftBytes = Number.parseInt(size, 16)
        chunkPart = leftBytes === 0 ? 'trailers' : 'data'
        return
      }
      case 'dataEnd':
        if (line !== '') throw new Malformed('a chunk is longer than its size')
        chunkPart = 'size'
        return
      case 'trailers':
        // They are not forwarded, which RFC 9110, section 6.5.1, allows. One of them is for us.
        trailerBytes += line.length
        if (trailerBytes > maxHeaderBytes) throw new Malformed('the trailers are too long')
        if (line === '') state = 'done'
        else if (CONTENT.test(line)) content = content === undefined ? parseLine(line).value : TWICE
    }
  }

  return {
    read,
    end() {
      mayFollow = false
      if (state === 'untilEnd') state = 'done'
      if (state !== 'done') throw new Malformed('it closed the connection before the response was complete')
      return true
    },
    content: () => content,
    isReusable: () => state === 'done' && mayFollow,
    keepAliveMs: () => keepAliveMs,
  }
}

const NOTHING = Buffer.alloc(0)
const CONTENT = /^x-headland-content:/i
/** No valid list: of two, none counts. */
const TWICE = ''
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,12})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?[ \t]*$/
const LENGTH = /^[0-9]{1,15}$/
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?$/
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NOT_IN_VALUES = /[\x00-\x08\x0a-\x1f\x7f]/

/** With whether it is HTTP/1.0, where a connection ends with its response unless Connection says otherwise. */
type ParsedHead = Head & { isOld: boolean }

function parseHead(text: string): ParsedHead {
  const lines = text.split('\r\n')
  const [, minor, status, reason = ''] = STATUS_LINE.exec(lines[0] as string) ?? []
  if (status === undefined) throw new Malformed('no status line')
  if (lines.length > MAX_HEADERS) throw new Malformed('too many headers')
  const headers: string[] = []
  for (let at = 1; at < lines.length; at++) {
    const { name, value } = parseLine(lines[at] as string)
    headers.push(name, value)
  }
  return { status: Number(status), reason, headers, isOld: minor === '0' }
}

/** Apps send the same lines with every response. */
const parseLine = remembering((line): { name: string; value: string } => {
  const colon = line.indexOf(':')
  const name = line.slice(0, colon)
  if (colon <= 0 || !NAME.test(name)) throw new Malformed('a header without a valid name')
  const value = trimBlanks(line.slice(colon + 1))
  if (NOT_IN_VALUES.test(value)) throw new Malformed('a header with control characters')
  return { name, value }
}, 4000)

const readKeepAlive = remembering((value) => Number(/timeout\s*=\s*"?(\d+)/i.exec(value)?.[1] ?? Number.NaN) * 1000)

type Framing = {
  isChunked: boolean
  length: number | undefined
  isPersistent: boolean
  keepAliveMs: number | undefined
}

function readFraming({ headers, isOld }: ParsedHead): Framing {
  let coding: string | undefined
  let length: string | undefined
  let connection = ''
  let keepAliveMs: number | undefined
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string
    switch (toLower(headers[at] as string)) {
      case 'transfer-encoding':
        coding = coding === undefined ? value : `${coding}, ${value}`
        break
      case 'content-length':
        if (length !== undefined) throw new Malformed('two lengths')
        length = value
        break
      case 'connection':
        connection += `${value.toLowerCase()},`
        break
      case 'keep-alive':
        keepAliveMs = readKeepAlive(value)
    }
  }
  if (length !== undefined && !LENGTH.test(length)) throw new Malformed('an invalid length')
  if (coding !== undefined && length !== undefined) throw new Malformed('a length and chunks')
  if (coding !== undefined && (isOld || coding.toLowerCase() !== 'chunked')) throw new Malformed('an unknown coding')
  const words = connection === '' ? [] : connection.split(',').map(trimBlanks)
  return {
    isChunked: coding !== undefined,
    length: length === undefined ? undefined : Number(length),
    isPersistent: isOld ? words.includes('keep-alive') : !words.includes('close'),
    keepAliveMs: Number.isFinite(keepAliveMs) ? keepAliveMs : undefined,
  }
}
