/** A whole app in one file: it says what it was told to say, slowly if it is asked to, and finishes before it stops. */
import { createServer } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

const greeting = process.env.GREETING ?? 'Hello'

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  if (pathname === '/') return response.setHeader('content-type', 'text/plain').end(`${greeting} from Node\n`)
  if (pathname !== '/slow') return response.writeHead(404).end('no such path\n')
  response.setHeader('content-type', 'text/plain')
  for (let part = 1; part <= 5; part++) {
    response.write(`part ${part}\n`)
    await wait(100)
  }
  response.end('end\n')
})

server.listen(Number(process.env.PORT ?? 3000), process.env.HOST)
process.on('SIGTERM', () => server.close())
