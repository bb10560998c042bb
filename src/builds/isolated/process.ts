/** The isolated process: it does one task, sends one result and ends. It opens no files but those of the program itself. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { Problem } from '../../contract/index.ts'
import type { FromIsolated, TaskMessage, Tasks } from './messages.ts'

/** The descriptor of the file that the task reads. */
const FILE_DESCRIPTOR = 4

const send = (message: FromIsolated) => process.send?.(message)

async function ask<T>(name: string, ...values: unknown[]): Promise<T> {
  const answered = once(process, 'message')
  send({ ask: name, values })
  const [message] = (await answered) as [{ answer: T }]
  return message.answer
}

const tasks: { [Name in keyof Tasks]: (input: Tasks[Name]['input']) => Promise<Tasks[Name]['result']> } = {
  async plan({ rootDirectory }) {
    const files: string[] = []
    for (let more = true; more; ) {
      const some = await ask<string[]>('files', files.length)
      files.push(...some)
      more = some.length > 0
    }
    const [{ readProject }, { planBuild }] = await Promise.all([
      import('../plan/project/read-project.ts'),
      import('../plan/plan-build.ts'),
    ])
    const read = (path: string) => ask<string | undefined>('read', path)
    const head = (path: string, bytes: number) => ask<string | undefined>('head', path, bytes)
    return planBuild(await readProject({ files, read, head }, rootDirectory))
  },
  async diagnose(failure) {
    const { diagnose } = await import('../diagnose/index.ts')
    return diagnose(failure)
  },
  async lockfile({ platform }) {
    const { parseLockfile } = await import('./lockfile.ts')
    return parseLockfile(readFileSync(FILE_DESCRIPTOR, 'utf8'), platform)
  },
}

process.once('disconnect', () => process.exit())
const [message] = (await once(process, 'message')) as [TaskMessage]
try {
  const done = await tasks[message.task](message.input as never)
  // Before the result is sent: the service kills this process when it has the result.
  flushCompileCache()
  send({ done })
} catch (error) {
  if (error instanceof Problem)
    send({ problem: { reason: error.reason, message: error.message, metadata: error.metadata } })
  else send({ fault: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}
