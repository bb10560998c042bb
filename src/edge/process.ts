/**
 * The edge process. It imports nothing but its own room and the watchdog, so it is small and starts at once. It serves its
 * last good table from the first moment, and ends when the process that started it is gone.
 */
import { doing, watchStalls } from '../watchdog/index.ts'
import type { FromEdge, ToEdge } from './channel.ts'
import { loadRoutes, saveTable, toRoutes } from './routes.ts'
import { createEdgeServer } from './server.ts'

const ACTIVITY_MS = 5000
/** The same trouble is told once in this time: a fault that every request meets must not become a flood. */
const TROUBLE_MS = 10_000

const edge = createEdgeServer({
  wake: (deployment) => notify({ kind: 'wake', deployment }),
  report: (error) => tellTrouble(error),
})
let tableFile = ''
let lastSave: Promise<void> = Promise.resolve()
const told = new Set<string>()

process.on('message', (message: ToEdge) => {
  handle(message).catch((error) => {
    notify({ kind: 'failed', message: describe(error) })
    process.exitCode = 1
    process.disconnect()
  })
})
process.on('disconnect', () => process.exit())
// The terminal's Ctrl-C reaches the whole process group: the parent decides when we stop.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
// A fault that nobody foresaw concerns one request. To end would break off all the others, as often as somebody likes.
process.on('uncaughtException', tellTrouble)
process.on('unhandledRejection', tellTrouble)

setInterval(() => {
  const deployments = edge.takeActivity()
  if (deployments) notify({ kind: 'activity', deployments })
  const environments = edge.takeCounts()
  if (environments) notify({ kind: 'traffic', environments })
}, ACTIVITY_MS).unref()

watchStalls((stall) => notify({ kind: 'stalled', stall }))

async function handle(message: ToEdge) {
  doing(`message ${message.kind}`)
  switch (message.kind) {
    case 'start': {
      tableFile = message.tableFile
      edge.trust(message.trustedProxies)
      if (message.countsPaths) edge.countPaths()
      await edge.openCache(message.cache)
      const known = await loadRoutes(tableFile)
      if (known) edge.useRoutes(known)
      await listen(message.host, message.port)
      const address = edge.http.address()
      return notify({ kind: 'listening', port: typeof address === 'object' && address ? address.port : message.port })
    }
    case 'table':
      edge.useRoutes(toRoutes(message.table))
      notify({ kind: 'using', id: message.id })
      // Without a saved table a restart begins with none; to stop serving because the disk is full would be worse.
      lastSave = lastSave.then(() => saveTable(tableFile, message.table)).catch(tellTrouble)
      return lastSave
    case 'drain':
      await edge.drain(message.instance, message.graceMs)
      return notify({ kind: 'drained', id: message.id })
    case 'purge':
      // Not told unless it holds: whoever asked for it learns that in time, and asks again.
      if (edge.purge(message.purge)) notify({ kind: 'purged', id: message.id })
      return
    case 'inspect':
      return notify({
        kind: 'inspected',
        id: message.id,
        inspection: await edge.inspect(message.environment, message.url),
      })
    case 'stop':
      await edge.stop()
      await edge.closeCache()
      await tellLastCounts()
      process.disconnect()
  }
}

function listen(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    edge.http.once('error', reject)
    edge.http.listen({ host, port }, resolve)
  })
}

function notify(message: FromEdge) {
  // What cannot be told is of no use any more: a channel that is closed ends this process.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

/** Resolves when it is on its way: nothing is sent over a channel that is closed. */
async function tellLastCounts() {
  const environments = edge.takeCounts()
  const last: FromEdge = { kind: 'traffic', environments: environments ?? {} }
  await new Promise<void>((resolve) => process.send?.(last, undefined, undefined, () => resolve()))
}

function tellTrouble(error: unknown) {
  const message = describe(error)
  if (told.has(message)) return
  told.add(message)
  setTimeout(() => told.delete(message), TROUBLE_MS).unref()
  notify({ kind: 'trouble', message })
}

/** What the kernel refuses needs no trace of our own code. */
const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return (error as NodeJS.ErrnoException).syscall === 'listen' ? error.message : (error.stack ?? error.message)
}
