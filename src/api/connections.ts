/** Limits the connections from one address at a time; one more is closed at once. */
import type { Server } from 'node:http'
import { isLoopback } from './loopback.ts'

/** Without networks of their own, all apps call from this machine's address and cannot be distinguished. */
export function limitConnections(server: Server, max: number, isExempt: (address: string) => boolean = isLoopback) {
  const open = new Map<string, number>()
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? ''
    if (isExempt(address)) return
    const count = (open.get(address) ?? 0) + 1
    open.set(address, count)
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1
      if (left > 0) open.set(address, left)
      else open.delete(address)
    })
    if (count > max) socket.destroy()
  })
}
