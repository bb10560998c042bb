'use strict'
// The content that came back in an exchange, as tags. Where no system is recognised, it is the URL itself.
const { createHash } = require('node:crypto')
const zlib = require('node:zlib')
const bodies = require('./bodies.cjs')
const { readContentful, readGraphql, readSanity, readStrapi } = require('./systems.cjs')
const { readWordpress } = require('./wordpress.cjs')

const ALL = ['all']
const CLEAN = /^[\w.~-]{1,40}$/

const READERS = [readWordpress, readContentful, readSanity, readGraphql, readStrapi]

/** @returns {readonly string[]} */
function tagsOf(exchange) {
  exchange.tags ??= read(exchange)
  return exchange.tags
}

function read(exchange) {
  const { key, status, type, isTooLong } = exchange
  // 304: the app has it already, and it is known to be fresh, but not what is in it.
  if (isTooLong || status === 304) return ALL
  if (status !== 200 || !/\bjson\b/i.test(type)) return [urlTag(key)]
  return bodies.tagsOfBody(exchange, (body) => readBody(body, exchange))
}

/** Whether a request tells something to a server, of statistics for example, and does not ask for content. */
const isReport = ({ method, url, sent }) =>
  method !== 'GET' &&
  method !== 'HEAD' &&
  !/query|search|graphql/i.test(`${url} ${sent === undefined ? '' : Buffer.concat(sent)}`)

/** `http` has an object of fields, undici a list of names and values as bytes. */
function fieldOf(fields, name) {
  if (!Array.isArray(fields)) return String(fields[name] ?? '')
  for (let at = 0; at < fields.length; at += 2) if (isNamed(fields[at], name)) return fields[at + 1].toString('latin1')
  return ''
}

/** Compares bytes, since a text for each field of each response costs more than all else here. */
function isNamed(bytes, name) {
  if (bytes.length !== name.length) return false
  if (typeof bytes === 'string') return bytes.toLowerCase() === name
  // Letters in the names of fields differ from small ones in this bit only.
  for (let at = 0; at < bytes.length; at++) if ((bytes[at] | 0x20) !== name.charCodeAt(at)) return false
  return true
}

function readBody(body, { key, url, coding, sent }) {
  const text = decode(body, coding)
  if (text === undefined) return ALL
  let value
  try {
    value = JSON.parse(text)
  } catch {
    return [urlTag(key)]
  }
  const tags = createTags()
  const given = { url: new URL(url), value, sent: sent === undefined ? '' : Buffer.concat(sent).toString() }
  if (!READERS.some((reader) => reader(given, tags))) tags.unknown()
  return [...tags.found, ...(tags.isUnknown() ? [urlTag(key)] : [])]
}

function decode(body, coding) {
  const options = { maxOutputLength: bodies.MAX_BYTES }
  try {
    switch (coding.toLowerCase()) {
      case '':
      case 'identity':
        return body.toString()
      case 'gzip':
      case 'x-gzip':
        return zlib.gunzipSync(body, options).toString()
      case 'deflate':
        return zlib.inflateSync(body, options).toString()
      case 'br':
        return zlib.brotliDecompressSync(body, options).toString()
      case 'zstd':
        return zlib.zstdDecompressSync(body, options).toString()
    }
  } catch {
    // As for a coding that is not known.
  }
  return undefined
}

/** Collects tags. What has no name that can stand in a tag is unknown. */
function createTags() {
  const found = new Set()
  let hasUnknown = false
  const unknown = () => {
    hasUnknown = true
  }
  return {
    found,
    isUnknown: () => hasUnknown || found.size === 0,
    /** Something is in it that is no item of a known system. */
    unknown,
    item(system, id) {
      const name = String(id)
      if (name.split(':').every((part) => CLEAN.test(part))) found.add(`i:${system}:${name}`)
      else unknown()
    },
    collection(system, type) {
      found.add(`c:${system}:${CLEAN.test(type ?? '') ? type : '*'}`)
    },
  }
}

const urlTag = (key) => `u:${createHash('sha256').update(sorted(key)).digest('hex').slice(0, 16)}`

/** The order of the query does not matter. */
function sorted(key) {
  const [, start = '', query = '', rest = ''] = /^([^?\n]*)\??([^\n]*)\n?([\s\S]*)$/.exec(key) ?? []
  return `${start}?${query.split('&').sort().join('&')}\n${rest}`
}

module.exports = { tagsOf, fieldOf, isReport }
