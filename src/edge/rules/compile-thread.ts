/** Compiles rules in a thread, since an author chooses how much there is to read. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Compiled, RuleSources } from './compile.ts'
import { RULE_LIMITS } from './limits.ts'

export type CompileTask = Omit<RuleSources, 'isFile'> & {
  /** The output of the build, whose files take precedence over rules; undefined where it is not served as files. */
  folder: string | undefined
}

/** Beside this file: TypeScript in a checkout, compiled in a package. */
const PROGRAM = new URL(`./compile-worker${extname(import.meta.url)}`, import.meta.url)
const HEAP_MEGABYTES = 512

/** Resolves in any case: a build does not fail for its rules. */
export async function compileInThread(task: CompileTask): Promise<Compiled> {
  const thread = new Worker(PROGRAM, {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
  })
  const { promise, resolve } = Promise.withResolvers<Compiled>()
  const leaveOut = (why: string) => {
    const files = Object.keys(task.texts).join(', ')
    resolve({ rules: undefined, warnings: [`${files}: reading the rules ${why}. All of them are left out.`] })
  }
  const timer = setTimeout(() => {
    leaveOut(`took more than ${RULE_LIMITS.readMs / 1000} seconds`)
    void thread.terminate()
  }, RULE_LIMITS.readMs)
  thread.once('message', resolve)
  thread.once('error', (error) => leaveOut(`failed: ${error.message}`))
  thread.once('exit', () => leaveOut('ended early'))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
