/**
 * The edge process. It imports only its own module, `http` and the watchdog, so it is small and starts fast. It serves
 * the last saved route table immediately, and ends when the process that started it is gone.
 */
import { doing, watchStalls } from '../watchdog/index.ts'
import type { FromEdge, ToEdge } from './channel.ts'
import { loadRoutes, saveTable, toRoutes } from './routes.ts'
import { createEdgeServer } from './server.ts'

const ACTIVITY_MS = 5000
/** The same fault is reported once in this time: one that every request meets must not flood the log. */
const TROUBLE_MS = 10_000

const edge = createEdgeServer({
  wake: (deployment) => notify({ kind: 'wake', deployment }),
  report: (error) => reportTrouble(error),
})
let tableFile = ''
let lastSave: Promise<void> = Promise.resolve()
const reported = new Set<string>()

process.on('message', (message: ToEdge) => {
  handle(message).catch((error) => {
    notify({ kind: 'failed', message: describe(error) })
    process.exitCode = 1
    process.disconnect()
  })
})
process.on('disconnect', () => process.exit())
// Ctrl-C in a terminal signals the whole process group, but the parent decides when this process stops.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
// An unexpected error concerns one request. Exiting would abort all the others, and a client could repeat it at will.
process.on('uncaughtException', reportTrouble)
process.on('unhandledRejection', reportTrouble)

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
      // Without a saved table a restart begins with none, but that is better than failing because the disk is full.
      lastSave = lastSave.then(() => saveTable(tableFile, message.table)).catch(reportTrouble)
      return lastSave
    case 'drain':
      await edge.drain(message.instance, message.graceMs)
      return notify({ kind: 'drained', id: message.id })
    case 'purge':
      // Confirmed only if it also holds after a restart. Otherwise the caller times out and asks again.
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
      await sendLastCounts()
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
  // An error is ignored: when the channel is closed, this process ends.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}

/** Resolves when they are sent, so that the channel may be closed. */
async function sendLastCounts() {
  const environments = edge.takeCounts()
  const last: FromEdge = { kind: 'traffic', environments: environments ?? {} }
  await new Promise<void>((resolve) => process.send?.(last, undefined, undefined, () => resolve()))
}

function reportTrouble(error: unknown) {
  const message = describe(error)
  if (reported.has(message)) return
  reported.add(message)
  setTimeout(() => reported.delete(message), TROUBLE_MS).unref()
  notify({ kind: 'trouble', message })
}

/** A failed `listen` needs no stack trace. */
const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return (error as NodeJS.ErrnoException).syscall === 'listen' ? error.message : (error.stack ?? error.message)
}
