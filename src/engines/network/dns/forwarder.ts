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
import {
  addressesIn,
  addressReply,
  CODE,
  emptyReply,
  HEADER,
  type Question,
  queryFor,
  readQuestion,
  TYPE,
} from './message.ts'
import type { Resolver } from './resolvers.ts'

/**
 * One namespace. `names` records the queried names, where contacts are recorded. `redirected` has names that lead to an address
 * inside of the namespace, where a program of the service answers for them.
 */
type Client = { names: Names | undefined; redirected: Redirected | undefined; underWay: number; sockets: Set<Socket> }

type Redirected = { names: ReadonlySet<string>; address: string }

/** The program that answers for a redirected name asks for its real addresses under this one. */
export const DIRECT_SUFFIX = '.direct.headland.internal'

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

  async function resolve(client: Client, query: Buffer, ask: Ask): Promise<Buffer> {
    const question = readQuestion(query)
    if (!question) return emptyReply(query, HEADER, CODE.malformed)
    const { name, type, end } = question
    if (client.redirected && name.endsWith(DIRECT_SUFFIX)) return resolveDirect(client, query, question)
    if (client.redirected?.names.has(name)) {
      if (client.names?.ask(name) === false) return emptyReply(query, end, CODE.refused)
      return type === TYPE.a ? addressReply(query, end, client.redirected.address) : emptyReply(query, end, CODE.none)
    }
    return resolveReal(client, query, question, ask)
  }

  /** The name without its suffix, resolved as for every other job. Its first address is the answer. */
  async function resolveDirect(client: Client, query: Buffer, { name, type, end }: Question): Promise<Buffer> {
    const inner = queryFor(name.slice(0, -DIRECT_SUFFIX.length), query.readUInt16BE(0))
    const question = inner && readQuestion(inner)
    if (!inner || !question || type !== TYPE.a) return emptyReply(query, end, CODE.none)
    const short = await resolveReal(client, inner, question, askByUdp)
    const isCutOff = ((short[2] ?? 0) & 0x02) !== 0
    const [first] = addressesIn(isCutOff ? await resolveReal(client, inner, question, askByTcp) : short)
    return first === undefined ? emptyReply(query, end, CODE.failure) : addressReply(query, end, first)
  }

  async function resolveReal({ names }: Client, query: Buffer, question: Question, ask: Ask): Promise<Buffer> {
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
      clients.set(from, { names, redirected: undefined, underWay: 0, sockets: new Set() })
    },
    /** From now on these names lead the namespace to an address of its own. */
    redirect(from: string, redirected: Redirected) {
      const client = clients.get(from)
      if (client) client.redirected = redirected
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
