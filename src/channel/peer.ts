/**
 * One end of a connection between two processes of the service: messages as JSON, one on each line of a Unix socket. They
 * arrive in the order in which they were sent. The first one of each side is its greeting.
 */
import type { Socket } from 'node:net'

/** Rises when a process of an earlier version would misunderstand the messages. */
export const PROTOCOL = 1

/** `process` names the process so that another one of its machine can find out whether it is gone. */
export type Greeting = { protocol: number; role: string; process: string; version: string }

export type Peer<Sent, Received> = {
  greeting: Greeting
  /** False: the other side reads more slowly than this one writes. `drained` resolves when it has caught up. */
  send(message: Sent): boolean
  drained(): Promise<void>
  /** The listener is not called before this returns, also for messages that are there already: its caller may be setting up. */
  onMessage(listener: (message: Received) => void): void
  /** Resolves when the connection is over, whichever side ended it. Nothing more arrives then. */
  closed: Promise<void>
  close(): void
}

/** Longer messages end the connection. */
const MAX_LINE_LENGTH = 64 * 1024 * 1024

export class IncompatiblePeer extends Error {}

/** Sends the greeting, and resolves when that of the other side has arrived. Rejects if it speaks another protocol. */
export function greet<Sent, Received>(socket: Socket, own: Greeting): Promise<Peer<Sent, Received>> {
  const { promise, resolve, reject } = Promise.withResolvers<Peer<Sent, Received>>()
  const closed = new Promise<void>((ended) => socket.once('close', () => ended()))
  const waiting: Received[] = []
  let listener: ((message: Received) => void) | undefined
  let greeting: Greeting | undefined

  const send = (message: unknown): boolean => socket.writable && socket.write(`${JSON.stringify(message)}\n`)

  function receive(line: string) {
    const message = JSON.parse(line)
    if (greeting) return listener ? listener(message) : void waiting.push(message)
    greeting = message as Greeting
    if (greeting.protocol !== own.protocol) {
      const { role, version } = greeting
      reject(new IncompatiblePeer(`the ${role} process of version ${version} speaks another protocol`))
      return socket.destroy()
    }
    resolve({
      greeting,
      send,
      drained: () => (socket.writableNeedDrain ? untilDrained(socket, closed) : Promise.resolve()),
      onMessage(added) {
        queueMicrotask(() => {
          listener = added
          for (const early of waiting.splice(0)) added(early)
        })
      },
      closed,
      close: () => void socket.end(),
    })
  }

  readLines(socket, receive)
  // An error is followed by `close`.
  socket.on('error', () => undefined)
  closed.then(() => reject(new Error('the connection was closed before the greeting')))
  send(own)
  return promise
}

const untilDrained = (socket: Socket, closed: Promise<void>): Promise<void> =>
  Promise.race([new Promise<void>((resolve) => socket.once('drain', () => resolve())), closed])

function readLines(socket: Socket, take: (line: string) => void) {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_LENGTH) return socket.destroy()
    for (const line of lines) if (!socket.destroyed) take(line)
  })
}
