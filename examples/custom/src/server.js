import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const pages = JSON.parse(readFileSync(new URL('pages.json', import.meta.url), 'utf8'))

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const isKnown = Object.hasOwn(pages, pathname)
  response.writeHead(isKnown ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' })
  response.end(pages[isKnown ? pathname : '404'])
})

server.listen(Number(process.env.PORT ?? 3000), process.env.HOST)
process.on('SIGTERM', () => server.close())
