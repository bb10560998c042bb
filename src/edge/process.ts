/**
 * The edge process. It imports nothing but its own room, so it is small and starts at once. It serves its last good table
 * from the first moment, and ends when the process that started it is gone.
 */
import type { FromEdge, ToEdge } from './channel.ts'
import { loadTable, saveTable, toRoutes } from './routes.ts'
import { createEdgeServer } from './server.ts'

const edge = createEdgeServer()
let tableFile = ''
let lastSave: Promise<void> = Promise.resolve()

process.on('message', (message: ToEdge) => {
  handle(message).catch((error) => {
    tell({ kind: 'failed', message: String(error?.stack ?? error) })
    process.exitCode = 1
    process.disconnect()
  })
})
process.on('disconnect', () => process.exit())
// The terminal's Ctrl-C reaches the whole process group: the parent decides when we stop.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)

async function handle(message: ToEdge) {
  switch (message.kind) {
    case 'start': {
      tableFile = message.tableFile
      const known = await loadTable(tableFile)
      if (known) edge.useRoutes(toRoutes(known))
      await listen(message.host, message.port)
      const address = edge.http.address()
      return tell({ kind: 'listening', port: typeof address === 'object' && address ? address.port : message.port })
    }
    case 'table':
      edge.useRoutes(toRoutes(message.table))
      tell({ kind: 'using', id: message.id })
      lastSave = lastSave.then(() => saveTable(tableFile, message.table))
      return lastSave
    case 'stop':
      edge.http.close(() => process.disconnect())
      edge.http.closeIdleConnections()
  }
}

function listen(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    edge.http.once('error', reject)
    edge.http.listen({ host, port }, resolve)
  })
}

function tell(message: FromEdge) {
  process.send?.(message)
}
