/**
 * A DNS forwarder for jobs: it asks the machine's own resolvers, wherever those are: on loopback, or in a network that jobs do
 * not reach. It is the only server of this machine that every job can reach; apps can call the service, too.
 *
 * Names of the service's own sites are answered here: they lead to the edge. Jobs have no IPv6, so AAAA queries are answered
 * without an address.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { Names } from '../contacts.ts'
import { type Ask, askByTcp, askByUdp, messagesOf, withLength } from './ask.ts'
import { addressesIn, addressReply, CODE, emptyReply, HEADER, readQuestion, TYPE } from './message.ts'
import type { Resolver } from './resolvers.ts'

/** One namespace. `names` records the queried names, where contacts are recorded. */
type Client = { names: Names | undefined; underWay: number; sockets: Set<Socket> }

/** Of each namespace; `answerMs` of each try. The firewall rules limit the rate of queries. */
const LIMITS = { underWay: 256, sockets: 16, answerMs: 2000, idleMs: 10_000 }

type Parts = {
  address: string
  resolvers(): Promise<readonly Resolver[]>
  /** The address of a site of this service; undefined for every other name. */
  addressOf?(name: string): Promise<string | undefined>
}

export async function openForwarder({ address, resolvers, addressOf = async () => undefined }: Parts) {
  const clients = new Map<string, Client>()
  /** The resolver that answered last is asked first. */
  let preferred = ''

  async function resolve({ names }: Client, query: Buffer, ask: Ask): Promise<Buffer> {
    const question = readQuestion(query)
    if (!question) return emptyReply(query, HEADER, CODE.malformed)
    const { name, type, end } = question
    if (names?.ask(name) === false) return emptyReply(query, end, CODE.refused)
    if (type === TYPE.aaaa) return emptyReply(query, end, CODE.none)
    const ofSite = await addressOf(name)
    if (ofSite !== undefined) {
      // A site on the job's loopback is recorded as what it leads to.
      names?.answer(name, [address])
      return type === TYPE.a ? addressReply(query, end, ofSite) : emptyReply(query, end, CODE.none)
    }
    const all = await resolvers().catch(() => [])
    for (const resolver of all.toSorted((a, b) => Number(b.address === preferred) - Number(a.address === preferred))) {
      const reply = await ask(resolver, query, question, LIMITS.answerMs).catch(() => undefined)
      if (!reply) continue
      preferred = resolver.address
      const addresses = addressesIn(reply)
      // A query for another record type says nothing about addresses, unless its answer contains some.
      if (type === TYPE.a || addresses.length > 0) names?.answer(name, addresses)
      return reply
    }
    if (type === TYPE.a) names?.answer(name, [])
    return emptyReply(query, end, CODE.failure)
  }

  /** Undefined for unknown senders, for what is no DNS message, and for a client with too many queries under way. */
  async function reply(from: string, query: Buffer, ask: Ask): Promise<Buffer | undefined> {
    const client = clients.get(from)
    if (!client || client.underWay >= LIMITS.underWay || query.length < HEADER) return undefined
    client.underWay++
    try {
      return await resolve(client, query, ask)
    } finally {
      client.underWay--
    }
  }

  let isClosed = false
  const udp = createSocket('udp4')
  udp.on('message', async (query, { address: from, port }) => {
    const answer = await reply(from, query, askByUdp)
    if (answer && !isClosed) udp.send(answer, port, from, () => undefined)
  })

  const tcp = createServer(async (socket) => {
    const from = socket.remoteAddress ?? ''
    const sockets = clients.get(from)?.sockets
    // A client may close the connection at any time.
    socket.on('error', () => undefined)
    if (!sockets || sockets.size >= LIMITS.sockets) return socket.destroy()
    sockets.add(socket)
    socket.setTimeout(LIMITS.idleMs, () => socket.destroy())
    await pipeline(socket, (chunks: AsyncIterable<Buffer>) => answersTo(from, chunks), socket).catch(() => undefined)
    sockets.delete(socket)
  })

  async function* answersTo(from: string, chunks: AsyncIterable<Buffer>) {
    for await (const query of messagesOf(chunks)) {
      const answer = await reply(from, query, askByTcp)
      if (!answer) return
      yield withLength(answer)
    }
  }

  function dismiss(from: string) {
    for (const socket of clients.get(from)?.sockets ?? []) socket.destroy()
    clients.delete(from)
  }

  // Any free ports: the firewall redirects port 53 to them, since another DNS server may use that on all addresses.
  tcp.listen({ host: address, port: 0 })
  await once(tcp, 'listening')
  udp.bind({ address, port: 0, exclusive: true })
  await once(udp, 'listening')
  // A client repeats a query that was lost.
  udp.on('error', () => undefined)

  return {
    ports: { tcp: (tcp.address() as AddressInfo).port, udp: udp.address().port },
    /** Only admitted addresses get answers. */
    admit(from: string, names: Names | undefined) {
      clients.set(from, { names, underWay: 0, sockets: new Set() })
    },
    dismiss,
    async close() {
      isClosed = true
      for (const from of clients.keys()) dismiss(from)
      udp.close()
      tcp.close()
      await once(tcp, 'close')
    },
  }
}

export type Forwarder = Awaited<ReturnType<typeof openForwarder>>
