/** The thread in which rules are compiled. */
import { parentPort, workerData } from 'node:worker_threads'
import { addressesIn } from '../static/manifest.ts'
import { type Compiled, compileRules } from './compile.ts'
import type { CompileTask } from './compile-thread.ts'

// A file may have hundreds of thousands of bad lines, and most of the work for each would be its stack trace.
Error.stackTraceLimit = 0

async function work({ folder, ...sources }: CompileTask): Promise<Compiled> {
  if (folder === undefined) return compileRules(sources)
  const addresses = await addressesIn(folder, sources.basePath)
  return compileRules({ ...sources, isFile: (address) => addresses.has(address) })
}

parentPort?.postMessage(await work(workerData as CompileTask))
