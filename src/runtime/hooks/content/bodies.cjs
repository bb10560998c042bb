'use strict'
// The body of an exchange. Menus and lists come again with each page: what is the same as the last body of the same request is
// compared while it comes, and not kept. The pieces of another body are kept as they are, until the answer of the app is complete.

const MAX_BYTES = 2 * 1024 * 1024
const MAX_REMEMBERED_BYTES = 4 * 1024 * 1024
/** What was sent to ask for it: longer ones are no query. */
const MAX_SENT_BYTES = 64 * 1024

/** Bodies that were read, with their tags, by the request. */
const remembered = new Map()
let rememberedBytes = 0

/** The response begins. */
function begin(exchange) {
  const { method, url, sent } = exchange
  const isPlain = method === 'GET' && sent === undefined
  exchange.key = isPlain ? url : `${method} ${url}\n${sent === undefined ? '' : Buffer.concat(sent)}`
  exchange.last = remembered.get(exchange.key)
}

function take(exchange, chunk) {
  if (exchange.isTooLong) return
  const piece = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
  const { last, chunks, bytes } = exchange
  exchange.bytes += piece.length
  if (exchange.bytes > MAX_BYTES) {
    Object.assign(exchange, { isTooLong: true, chunks: [], last: undefined })
    return
  }
  if (last !== undefined) {
    if (isWithin(last.body, bytes, piece)) return
    chunks.push(last.body.subarray(0, bytes))
    exchange.last = undefined
  }
  chunks.push(piece)
}

const isWithin = (body, from, piece) =>
  from + piece.length <= body.length && body.compare(piece, 0, piece.length, from, from + piece.length) === 0

/** Calls `read` for the tags of a body that is not the same as the last one. */
function tagsOfBody({ key, last, chunks, bytes }, read) {
  if (last?.body.length === bytes) return last.tags
  const body = last === undefined ? Buffer.concat(chunks) : last.body.subarray(0, bytes)
  const tags = read(body)
  remember(key, { body, tags })
  return tags
}

function remember(key, entry) {
  rememberedBytes -= remembered.get(key)?.body.length ?? 0
  remembered.delete(key)
  if (entry.body.length > MAX_REMEMBERED_BYTES / 8) return
  // A copy: a piece keeps the whole buffer that it was received in.
  remembered.set(key, { ...entry, body: Buffer.from(entry.body) })
  rememberedBytes += entry.body.length
  for (const [oldest, { body }] of remembered) {
    if (rememberedBytes <= MAX_REMEMBERED_BYTES) break
    remembered.delete(oldest)
    rememberedBytes -= body.length
  }
}

/** Notes what the app sends with its request. */
function noteSent(exchange, chunk) {
  if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
  // Its key is known already.
  if (exchange.key) exchange.isTooLong = true
  exchange.sentBytes += chunk.length
  if (exchange.sentBytes > MAX_SENT_BYTES) return
  exchange.sent ??= []
  exchange.sent.push(Buffer.from(chunk))
}

module.exports = { MAX_BYTES, begin, take, tagsOfBody, noteSent }
