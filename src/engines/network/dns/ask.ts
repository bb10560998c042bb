/** One DNS query to one resolver. Rejects when no answer has come in time. */
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import { answers, type Question } from './message.ts'
import type { Resolver } from './resolvers.ts'

export type Ask = (resolver: Resolver, query: Buffer, question: Question, waitMs: number) => Promise<Buffer>

/** From a random port each time: an attacker who forges an answer has to guess it along with the query id. */
export const askByUdp: Ask = ({ address, port }, query, question, waitMs) =>
  new Promise<Buffer>((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    const settle = (how: () => void) => {
      clearTimeout(timer)
      socket.removeAllListeners().on('error', () => undefined)
      socket.close()
      how()
    }
    const timer = setTimeout(() => settle(() => reject(new Error('no answer came'))), waitMs)
    socket.once('error', (error) => settle(() => reject(error)))
    socket.on('message', (reply) => {
      if (answers(reply, query, question)) settle(() => resolve(reply))
    })
    // Connected, so that the kernel drops packets from other senders, and reports at once when no server listens there.
    socket.connect(port, address, () => socket.send(query))
  })

export const askByTcp: Ask = async ({ address, port }, query, question, waitMs) => {
  const socket = connect({ host: address, port })
  const timer = setTimeout(() => socket.destroy(new Error('no answer came')), waitMs)
  try {
    socket.write(withLength(query))
    for await (const reply of messagesOf(socket)) if (answers(reply, query, question)) return reply
    throw new Error('the resolver closed the connection')
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

/** Over TCP each message is prefixed with its length. */
export async function* messagesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    held = Buffer.concat([held, chunk])
    while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
      const end = 2 + held.readUInt16BE(0)
      yield held.subarray(2, end)
      held = held.subarray(end)
    }
  }
}

export function withLength(message: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return Buffer.concat([length, message])
}
