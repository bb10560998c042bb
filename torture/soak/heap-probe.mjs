/**
 * Loaded before the service (`NODE_OPTIONS=--import`), in each of its processes and threads: collects garbage every few
 * seconds and records the size of the heap, so that a leak shows in minutes instead of days.
 */
import child from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { threadId } from 'node:worker_threads'

const folder = process.env.SOAK_FOLDER
const EVERY_MS = 4000

/** Without compiled code, which grows for as long as V8 compiles more functions: 0.2 MiB a minute at first. */
const usedBytes = () =>
  getHeapSpaceStatistics()
    .filter(({ space_name: name }) => !/^(code|trusted)_/.test(name))
    .reduce((sum, { space_used_size: bytes }) => sum + bytes, 0)

if (folder) {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc')
  const file = join(folder, `${process.pid}-${threadId}.json`)
  setInterval(() => {
    collectGarbage()
    writeFileSync(`${file}.new`, JSON.stringify({ bytes: usedBytes() }))
    renameSync(`${file}.new`, file)
  }, EVERY_MS).unref()

  // The edge does not inherit the service's environment.
  const { fork } = child
  child.fork = (path, args, options = {}) =>
    fork(path, args, {
      ...options,
      env: { ...options.env, SOAK_FOLDER: folder },
      execArgv: [...(options.execArgv ?? []), '--import', import.meta.url],
    })
  syncBuiltinESMExports()
}
