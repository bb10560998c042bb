/** The peer of the upload: writes the body to a file, hashes it, fsyncs, and answers. */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { createServer } from 'node:http'

const target = process.argv[2] ?? ''

const server = createServer(async (request, response) => {
  const file = await open(target, 'w')
  const hash = createHash('sha256')
  for await (const chunk of request) {
    hash.update(chunk)
    await file.write(chunk)
  }
  await file.sync()
  await file.close()
  response.end(hash.digest('hex'))
})
server.listen({ host: '127.0.0.1', port: 0 }, () => {
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
process.on('SIGTERM', () => process.exit())
