/**
 * A Unix socket that only the user of the service can open. It is made under another name and renamed, so a process that takes
 * over replaces it in one step, and the end of the old one does not remove it.
 */
import { chmod, rename } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'

export async function openUnixSocket(path: string, onConnection: (socket: Socket) => void): Promise<Server> {
  const server = createServer(onConnection)
  const draft = `${path}.${process.pid}`
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(draft, resolve)
  })
  await chmod(draft, 0o600)
  await rename(draft, path)
  return server
}
