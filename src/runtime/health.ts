/** Waits until an app answers on its port. Any HTTP response counts, whatever its status. */
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '../contract/index.ts'
import type { Process } from '../engines/index.ts'

const POLL_MS = { first: 20, max: 250 }

type Waiting = {
  process: Process
  host: string
  port: number
  hostHeader: string
  deadlineMs: number
  signal: AbortSignal
}

export async function untilItAnswers({ process, host, port, hostHeader, deadlineMs, signal }: Waiting): Promise<void> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  let hasExited = false
  const noteExit = () => {
    hasExited = true
  }
  // The promise of a process that could not even be started rejects; `crashed` reports the reason.
  process.exited.then(noteExit, noteExit)
  let isListening = false
  for (let pauseMs = POLL_MS.first; !over.aborted && !hasExited; pauseMs = Math.min(pauseMs * 1.5, POLL_MS.max)) {
    const answer = await ask({ host, port, hostHeader }, over)
    if (answer.answers) return
    isListening = answer.isListening
    await wait(pauseMs)
  }
  signal.throwIfAborted()
  if (hasExited) throw await crashed(process)
  const seconds = Math.round(deadlineMs / 1000)
  if (isListening) throw new Problem('START_TIMEOUT', `The app listens but did not answer within ${seconds} s.`)
  throw await notBound(process, port, seconds)
}

const REACHED = {
  memory: 'OUT_OF_MEMORY',
  processes: 'TOO_MANY_PROCESSES',
  disk: 'DISK_LIMIT',
  files: 'DISK_LIMIT',
  fullDisk: 'DISK_FULL',
} as const

async function crashed(process: Process): Promise<Problem> {
  const { code, signal, excess = [] } = await process.exited
  const [limit] = excess
  if (limit) return new Problem(REACHED[limit], undefined, { metadata: { limit } })
  const how = signal ? `was killed by ${signal}` : `ended with exit code ${code}`
  return new Problem('START_CRASHED', `The app ${how} before it answered.`, {
    metadata: { exitCode: String(code ?? signal) },
  })
}

async function notBound(process: Process, port: number, seconds: number): Promise<Problem> {
  const elsewhere = await process.listeningPorts()
  const found = elsewhere.includes(port)
    ? ' It listens on that port at another address, such as ::1: let it listen on HOST.'
    : elsewhere.length > 0
      ? ` It listens on ${elsewhere.join(', ')} instead.`
      : ''
  return new Problem('PORT_NOT_BOUND', `The app did not listen on port ${port} (PORT) within ${seconds} s.${found}`, {
    metadata: { port: String(port), listens: elsewhere.join(', ') },
  })
}

/** Whether it listens at a port, and whether it answers there. */
export async function ask({ host, port, hostHeader, onListening }: Asked, signal: AbortSignal): Promise<Answer> {
  const isListening = await accepts(host, port)
  if (isListening) onListening?.()
  return { isListening, answers: isListening && (await answers(host, port, hostHeader, signal)) }
}

/** `onListening` is called before the answer, which may take long. */
export type Asked = Pick<Waiting, 'host' | 'port' | 'hostHeader'> & { onListening?(): void }
export type Answer = { isListening: boolean; answers: boolean }

/** Whether something listens. The kernel accepts also for a program that does nothing at the moment. */
export function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1000 })
    const settle = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
    socket.once('timeout', () => settle(false))
  })
}

function answers(host: string, port: number, hostHeader: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request(
      { host, port, path: '/', agent: false, signal, headers: { host: hostHeader } },
      (response) => {
        response.destroy()
        resolve(true)
      },
    )
    asked.once('error', () => resolve(false))
    asked.end()
  })
}
