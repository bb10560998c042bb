/** Free ports on loopback. No port is given out again while it is in use. */
import { createServer } from 'node:net'

const inUse = new Set<number>()

export async function takePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = await freePort()
    if (inUse.has(port)) continue
    inUse.add(port)
    return port
  }
  throw new Error('no free port was found in a hundred tries')
}

export function giveBackPort(port: number) {
  inUse.delete(port)
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const address = server.address()
      const port = typeof address === 'object' && address ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}
