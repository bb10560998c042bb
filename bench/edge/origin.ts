/**
 * An origin: a page of so many bytes at every path, which a shared cache may store for an hour unless an argument says
 * otherwise.
 */
import { createServer } from 'node:http'

const [bytes, host = '127.0.0.1', givenPort = '0', cacheControl = 's-maxage=3600'] = process.argv.slice(2)
const page = Buffer.alloc(Number(bytes), 'a line of a page, and its end.\n')

const server = createServer((_, response) => {
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': page.length,
    'cache-control': cacheControl,
  })
  response.end(page)
})
// An idle timeout could close a connection while a request is on its way, and that error would say nothing about the
// edge.
server.keepAliveTimeout = 600_000
server.listen({ host, port: Number(givenPort) }, () => {
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  process.stdout.write(`${JSON.stringify({ port })}\n`)
})
process.on('SIGTERM', () => process.exit())
