/** The thread in which rules are compiled. */
import { parentPort, workerData } from 'node:worker_threads'
import { addressesIn } from '../static/manifest.ts'
import { type Compiled, compileRules, dependsOnFiles } from './compile.ts'
import type { CompileTask } from './compile-thread.ts'

async function work({ folder, ...sources }: CompileTask): Promise<Compiled> {
  const compiled = compileRules(sources)
  if (!compiled.rules?.redirects.some(dependsOnFiles)) return compiled
  const addresses = await addressesIn(folder, sources.basePath)
  return compileRules({ ...sources, isFile: (address) => addresses.has(address) })
}

parentPort?.postMessage(await work(workerData as CompileTask))
