/** An origin: a page of so many bytes under every address, which a shared cache may keep for an hour. */
import { createServer } from 'node:http'

const page = Buffer.alloc(Number(process.argv[2]), 'a line of a page, and its end.\n')

const server = createServer((_, response) => {
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': page.length,
    'cache-control': 's-maxage=3600',
  })
  response.end(page)
})
// A connection that is closed while a request is on its way over it would be an error that says nothing of the edge.
server.keepAliveTimeout = 600_000
server.listen({ host: '127.0.0.1', port: 0 }, () => {
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  process.stdout.write(`${JSON.stringify({ port })}\n`)
})
process.on('SIGTERM', () => process.exit())
