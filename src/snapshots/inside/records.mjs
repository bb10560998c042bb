/**
 * Recorded answers as two files: a line of JSON for each answer, and the bodies one after the other. Where a key has several
 * lines, the last one counts.
 */
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const HEADER_BYTES = 16 * 1024

/** `onIncomplete` is told, once, why not everything is recorded. */
export function createRecorder(folder, limits, onIncomplete) {
  const index = openSync(join(folder, 'index'), 'wx', 0o600)
  const bodies = openSync(join(folder, 'bodies'), 'wx', 0o600)
  const known = new Map()
  const places = new Map()
  let lines = 0
  let bytes = 0
  let buffered = 0
  let isIncomplete = false

  function incomplete(why) {
    if (!isIncomplete) onIncomplete(why)
    isIncomplete = true
  }

  return {
    incomplete,

    /** Takes the pieces of one body as they arrive. */
    begin(url) {
      const chunks = []
      let length = 0
      const giveUp = (why) => {
        if (chunks.length === 0 && length < 0) return
        buffered -= Math.max(0, length)
        chunks.length = 0
        length = -1
        if (why) incomplete(why)
      }
      return {
        add(chunk) {
          if (length < 0) return
          length += chunk.length
          buffered += chunk.length
          chunks.push(chunk)
          if (length > limits.bodyBytes) giveUp(`the answer to ${url} has more than ${limits.bodyBytes} bytes`)
          else if (buffered > limits.bufferedBytes) giveUp('too many large answers came at a time')
        },
        giveUp,
        end(entry) {
          if (length < 0) return
          const body = Buffer.concat(chunks)
          giveUp()
          try {
            write(entry, body)
          } catch {
            incomplete('an answer could not be written to the disk')
          }
        },
      }
    },

    count: () => ({ answers: known.size, bytes }),

    close() {
      closeSync(index)
      closeSync(bodies)
    },
  }

  function write({ keys, headers, ...entry }, body) {
    const digest = createHash('sha256').update(body).digest('hex')
    const mark = `${entry.status} ${digest}`
    if (known.get(keys.exact) === mark) return
    if (lines >= limits.answers) return incomplete(`there are more than ${limits.answers} answers`)
    if (!places.has(digest)) {
      if (bytes + body.length > limits.totalBytes)
        return incomplete(`the answers have more than ${limits.totalBytes} bytes`)
      writeWhole(bodies, body)
      places.set(digest, bytes)
      bytes += body.length
    }
    const at = places.get(digest)
    const kept =
      JSON.stringify(headers).length > HEADER_BYTES ? headers.filter(([name]) => name === 'content-type') : headers
    const line = { key: keys.exact, loose: keys.loose, ...entry, headers: kept, at, length: body.length, digest }
    writeWhole(index, Buffer.from(`${JSON.stringify(line)}\n`))
    known.set(keys.exact, mark)
    lines += 1
  }
}

/** A full disk takes a part of it first, and fails then. */
function writeWhole(file, bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}

/** What an earlier build recorded. */
export function readRecorded(folder) {
  const byKey = new Map()
  const byLoose = new Map()
  const hosts = new Set()
  for (const line of readFileSync(join(folder, 'index'), 'utf8').split('\n')) {
    if (line === '') continue
    const entry = JSON.parse(line)
    byKey.set(entry.key, entry)
  }
  for (const entry of byKey.values()) {
    byLoose.set(entry.loose, byLoose.has(entry.loose) ? undefined : entry)
    if (entry.status < 500) hosts.add(new URL(entry.url).host)
  }
  return {
    /** With the same credentials, or else the only one with other ones. */
    find: ({ exact, loose }) => byKey.get(exact) ?? byLoose.get(loose),
    /** Whether it has an answer of that host and port. */
    hasHost: (host) => hosts.has(host),
    bodyOf: ({ at, length }) =>
      length === 0 ? undefined : createReadStream(join(folder, 'bodies'), { start: at, end: at + length - 1 }),
  }
}
