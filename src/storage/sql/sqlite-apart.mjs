// @ts-check
/**
 * A process around the thread that owns a SQLite file. Neither a query nor the thread that runs it can be interrupted,
 * but a process can be killed: so an untrusted file is only opened in one.
 */
import { Worker } from 'node:worker_threads'

const thread = new Worker(new URL('./sqlite-thread.mjs', import.meta.url), {
  workerData: JSON.parse(process.argv[2] ?? '{}'),
})
thread.on('message', (message) => process.send?.(message))
process.on('message', (message) => thread.postMessage(message))
// It ends with its parent. SIGKILL ends it even while the thread runs a query.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)
