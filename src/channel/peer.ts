/**
 * One end of a connection between two processes of the service: messages as JSON, one on each line of a socket. They arrive in
 * the order in which they were sent. The first one of each side is its greeting; an empty line says that it is there.
 */
import type { Socket } from 'node:net'

/** Rises when a process of an earlier version would misunderstand the messages. */
export const PROTOCOL = 1

/** `process` names the process so that another one of its machine can find out whether it is gone. */
export type Greeting = {
  protocol: number
  role: string
  process: string
  version: string
  /** What the connection is for, where a process has several. */
  topic?: string
  /** Of a process that follows others: a later connection has a higher number. */
  connection?: number
}

export type Peer<Sent, Received> = {
  greeting: Greeting
  /** Of one on another machine: the name for which its join token was made. */
  node?: string
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
const MAX_GREETING_LENGTH = 4096

export class IncompatiblePeer extends Error {}

/** Who the other side has proven to be, where it has to. */
type Proven = { role: string; name: string }

/**
 * Sends the greeting, and resolves when that of the other side has arrived. Rejects if it speaks another protocol, or has
 * another role than it has proven.
 */
export function greet<Sent, Received>(socket: Socket, own: Greeting, proven?: Proven): Promise<Peer<Sent, Received>> {
  const { promise, resolve, reject } = Promise.withResolvers<Peer<Sent, Received>>()
  const closed = new Promise<void>((ended) => socket.once('close', () => ended()))
  const waiting: Received[] = []
  let listener: ((message: Received) => void) | undefined
  let greeting: Greeting | undefined

  const send = (message: unknown): boolean => socket.writable && socket.write(`${JSON.stringify(message)}\n`)

  function refuse(error: Error) {
    reject(error)
    socket.destroy()
  }

  function receive(line: string) {
    if (line === '') return
    const message = parse(line)
    if (message === undefined) return refuse(new IncompatiblePeer('the other process sent what is no message'))
    if (greeting) return listener ? listener(message as Received) : void waiting.push(message as Received)
    const found = message as Partial<Greeting>
    if (typeof found.role !== 'string' || typeof found.process !== 'string')
      return refuse(new IncompatiblePeer('the other process did not begin with a greeting'))
    if (found.protocol !== own.protocol)
      return refuse(
        new IncompatiblePeer(`the ${found.role} process of version ${found.version} speaks another protocol`),
      )
    if (proven && found.role !== proven.role)
      return refuse(
        new IncompatiblePeer(`the token of ${proven.role} ${proven.name} is not good for the role ${found.role}`),
      )
    greeting = found as Greeting
    resolve({
      greeting,
      ...(proven ? { node: proven.name } : {}),
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

  readLines(socket, receive, () => (greeting ? MAX_LINE_LENGTH : MAX_GREETING_LENGTH))
  // An error is followed by `close`.
  socket.on('error', () => undefined)
  closed.then(() => reject(new Error('the connection was closed before the greeting')))
  send(own)
  return promise
}

const untilDrained = (socket: Socket, closed: Promise<void>): Promise<void> =>
  Promise.race([new Promise<void>((resolve) => socket.once('drain', () => resolve())), closed])

/** Undefined for a text that is no object of JSON. */
function parse(line: string): object | undefined {
  try {
    const message = JSON.parse(line)
    return typeof message === 'object' && message !== null ? message : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** A line of many packets is put together once, when its end has come. */
function readLines(socket: Socket, take: (line: string) => void, maxLength: () => number) {
  let parts: string[] = []
  let length = 0
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    const [first = '', ...others] = text.split('\n')
    for (const piece of [first, ...others].entries()) {
      const [at, characters] = piece
      if (at > 0) {
        const line = parts.join('')
        parts = []
        length = 0
        if (!socket.destroyed) take(line)
      }
      parts.push(characters)
      length += characters.length
      if (length > maxLength()) return void socket.destroy()
    }
  })
}
