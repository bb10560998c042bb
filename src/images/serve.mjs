/**
 * Serves the files of a static site from an image: `node serve.mjs FOLDER [--single-page] [--base=/path]`. It stands alone,
 * since an image has nothing of Headland but this file. Redirects and headers of the site's author are applied by Headland's
 * edge, and not here.
 */
import { createReadStream } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'

const [folder = '.', ...options] = process.argv.slice(2)
const isSinglePage = options.includes('--single-page')
const base = options.find((option) => option.startsWith('--base='))?.slice('--base='.length) ?? ''
const top = await realpath(folder)

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.xml': 'application/xml; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.ico': 'image/x-icon',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.pdf': 'application/pdf',
  '.webmanifest': 'application/manifest+json',
}

/** A file inside of the folder, after links; undefined for anything else. */
async function fileAt(path) {
  const real = await realpath(join(top, path)).catch(() => undefined)
  if (real === undefined || !real.startsWith(`${top}/`)) return undefined
  const found = await lstat(real)
  return found.isFile() ? { path: real, size: found.size } : undefined
}

/** The path in the folder; undefined for an address that names none. */
function pathOf(url = '/') {
  let path
  try {
    path = decodeURIComponent(url.replace(/[?#].*$/s, ''))
  } catch {
    return undefined
  }
  if (!path.startsWith('/') || path.includes('\0') || path.split('/').includes('..')) return undefined
  if (base === '') return path
  return path === base || path.startsWith(`${base}/`) ? path.slice(base.length) || '/' : undefined
}

async function find(path) {
  const names = path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`, `${path}/index.html`]
  for (const name of names) {
    const file = await fileAt(name)
    if (file) return { status: 200, ...file }
  }
  const fallback = isSinglePage ? await fileAt('/index.html') : await fileAt('/404.html')
  return fallback && { status: isSinglePage ? 200 : 404, ...fallback }
}

const server = createServer(async (request, response) => {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end()
    return
  }
  const path = pathOf(request.url)
  const found = path === undefined ? undefined : await find(path)
  if (!found) {
    response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Not found\n')
    return
  }
  const type = TYPES[extname(found.path).toLowerCase()] ?? 'application/octet-stream'
  response.writeHead(found.status, { 'content-type': type, 'content-length': found.size })
  if (request.method === 'HEAD') response.end()
  else
    createReadStream(found.path)
      .on('error', () => response.destroy())
      .pipe(response)
})

server.listen(Number(process.env.PORT ?? 3000), process.env.HOST ?? '0.0.0.0')
// As the first process of a container it has no default for these signals.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0))
