/** The content type of a file, by its name, and whether it is worth compressing. */
import { trimBlanks } from '../../http/index.ts'

export type ContentType = { type: string; isCompressible: boolean }

const text = (type: string): ContentType => ({ type: `${type}; charset=utf-8`, isCompressible: true })
const packed = (type: string): ContentType => ({ type, isCompressible: false })
const loose = (type: string): ContentType => ({ type, isCompressible: true })

const BY_EXTENSION: ReadonlyMap<string, ContentType> = new Map(
  Object.entries({
    html: text('text/html'),
    htm: text('text/html'),
    css: text('text/css'),
    js: text('text/javascript'),
    mjs: text('text/javascript'),
    cjs: text('text/javascript'),
    txt: text('text/plain'),
    md: text('text/markdown'),
    csv: text('text/csv'),
    ics: text('text/calendar'),
    vtt: text('text/vtt'),
    xml: text('application/xml'),
    xsl: text('application/xml'),
    rss: text('application/rss+xml'),
    atom: text('application/atom+xml'),
    // JSON is UTF-8 by definition (RFC 8259, section 8.1), and has no charset parameter.
    json: loose('application/json'),
    map: loose('application/json'),
    webmanifest: loose('application/manifest+json'),
    jsonld: loose('application/ld+json'),
    geojson: loose('application/geo+json'),
    wasm: loose('application/wasm'),
    svg: loose('image/svg+xml'),
    ico: loose('image/x-icon'),
    bmp: loose('image/bmp'),
    png: packed('image/png'),
    apng: packed('image/apng'),
    jpg: packed('image/jpeg'),
    jpeg: packed('image/jpeg'),
    gif: packed('image/gif'),
    webp: packed('image/webp'),
    avif: packed('image/avif'),
    jxl: packed('image/jxl'),
    ttf: loose('font/ttf'),
    otf: loose('font/otf'),
    eot: loose('application/vnd.ms-fontobject'),
    woff: packed('font/woff'),
    woff2: packed('font/woff2'),
    mp3: packed('audio/mpeg'),
    m4a: packed('audio/mp4'),
    ogg: packed('audio/ogg'),
    opus: packed('audio/ogg'),
    wav: packed('audio/wav'),
    flac: packed('audio/flac'),
    mp4: packed('video/mp4'),
    m4v: packed('video/mp4'),
    webm: packed('video/webm'),
    mov: packed('video/quicktime'),
    pdf: packed('application/pdf'),
    zip: packed('application/zip'),
    gz: packed('application/gzip'),
    glb: loose('model/gltf-binary'),
    gltf: loose('model/gltf+json'),
  }),
)

const UNKNOWN = packed('application/octet-stream')

export function contentTypeOf(path: string): ContentType {
  const dot = path.lastIndexOf('.')
  if (dot <= path.lastIndexOf('/')) return UNKNOWN
  return BY_EXTENSION.get(path.slice(dot + 1).toLowerCase()) ?? UNKNOWN
}

/** Whether a response with this Content-Type is worth compressing. */
export function isCompressible(header: string): boolean {
  const type = trimBlanks(header.split(';', 1)[0] ?? '').toLowerCase()
  return COMPRESSIBLE.has(type) || type.startsWith('text/') || type.endsWith('+json') || type.endsWith('+xml')
}

const COMPRESSIBLE: ReadonlySet<string> = new Set([
  ...[...BY_EXTENSION.values()].flatMap(({ type, isCompressible: isLoose }) =>
    isLoose ? [type.split(';', 1)[0] ?? ''] : [],
  ),
  'application/javascript',
  'application/x-javascript',
  'application/graphql-response+json',
])
