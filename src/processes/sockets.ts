/**
 * The sockets that the service listens on. They belong to the process that supervises the others and are never closed while it
 * runs: connections wait in them while the process that accepts them is replaced or started again.
 */
import { lookup } from 'node:dns/promises'
import net from 'node:net'
import { getSystemErrorName } from 'node:util'
import { pollUntil, systemClock } from '../base/index.ts'
import type { Listen } from '../settings.ts'

/**
 * A socket with an address, from which this process does not accept. A child gets it among its `stdio`, and listens on its
 * descriptor: the kernel counts it as listening from the first child on.
 */
export type SharedSocket = { handle: Handle; address: Listen }

export type Handle = { getsockname(into: { port?: number }): number; close(): void }

/** The function of Node with which its module `cluster` makes sockets for its workers. There is no other without accepting. */
const { _createServerHandle: createHandle } = net as unknown as {
  _createServerHandle(address: string, port: number, family: 4 | 6, fd: number, flags: number): Handle | number
}

/** UV_TCP_REUSEPORT: several sockets share a port, and the kernel spreads connections over them. */
const REUSE_PORT = 2

/** Processes of a service that was just killed may still hold its sockets. */
const WAIT = { pauseMs: 100, timeoutMs: 3000 }

export async function openSocket(listen: Listen, { isShared = false } = {}): Promise<SharedSocket> {
  const { address, family } = await lookup(listen.host)
  const open = () => bind(listen, { address, family, isShared })
  let found: SharedSocket | Error = open()
  await pollUntil(
    systemClock,
    () => {
      if (found instanceof Error) found = open()
      return !(found instanceof Error)
    },
    WAIT,
  )
  if (found instanceof Error) throw found
  return found
}

type Bind = { address: string; family: number; isShared: boolean }

function bind({ host, port }: Listen, { address, family, isShared }: Bind): SharedSocket | Error {
  const handle = createHandle(address, port, family === 6 ? 6 : 4, -1, isShared ? REUSE_PORT : 0)
  if (typeof handle === 'number') return refused(getSystemErrorName(handle), { host, port })
  const bound: { port?: number } = {}
  handle.getsockname(bound)
  // libuv reports an address that is in use only to `listen`, which is not called here.
  if (!bound.port) {
    handle.close()
    return refused('EADDRINUSE', { host, port })
  }
  return { handle, address: { host, port: bound.port } }
}

const refused = (code: string, { host, port }: Listen) => new Error(`${code}: cannot listen on ${host}, port ${port}`)
