/** Badly behaved clients: half an upload, a slow one, replies that are not read to the end, garbage. */
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { zipOf } from '../test/support/zip.ts'
import type { RudeAct, RudeKind } from './plan.ts'
import type { System } from './system.ts'
import type { Tenant } from './tenant.ts'

type Parts = { system: System; tenants: readonly Tenant[]; next: () => RudeAct; count(kind: string): void }

const SLOW_MS = 2500
const HOLD_MS = 400

export async function runRude({ system, tenants, next, count }: Parts, signal: AbortSignal) {
  while (!signal.aborted) {
    const given = next()
    count(`rude ${given.kind}`)
    await behave(system, tenants, given)
    await wait(given.pauseMs, undefined, { signal }).catch(() => undefined)
  }
}

async function behave(system: System, tenants: readonly Tenant[], { kind, account, slot, part }: RudeAct) {
  const tenant = tenants[account] as Tenant
  const { environment, url } = tenant.slot(slot)
  const host = url ? new URL(url).host : 'unknown.localhost'
  const authorization = system.authorization(tenant.account)
  const edge = system.edges()[system.nextEdge()] as string
  const upload = () => uploadOf(environment, authorization)
  const get = `GET /v1/accounts/${tenant.account}/apps HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`
  const visit = `GET /slow HTTP/1.1\r\nHost: ${host}\r\n\r\n`
  const garbage = Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 37 + Math.floor(part * 255)) & 255))
  const acts: Record<RudeKind, () => Promise<void>> = {
    halfUpload: () => send(system.api(), [upload().subarray(0, Math.floor(part * upload().length))], HOLD_MS),
    slowUpload: () => send(system.api(), slices(upload(), 25).slice(0, -1), HOLD_MS, SLOW_MS / 25),
    cutReply: () => send(system.api(), [get], Math.floor(part * 3)),
    garbageToApi: () => send(system.api(), [garbage], HOLD_MS),
    garbageToEdge: () => send(edge, [garbage], HOLD_MS),
    slowHeaders: () => send(edge, slices(Buffer.from(visit), 12).slice(0, -1), HOLD_MS, SLOW_MS / 12),
    cutVisit: () => send(edge, [visit], Math.floor(part * 300)),
  }
  await acts[kind]()
}

/** Sends the pieces with a pause between them, waits for a moment, and hangs up. The response is ignored. */
async function send(address: string, pieces: readonly (Buffer | string)[], stayMs: number, pauseMs = 0) {
  const { hostname, port } = new URL(address)
  const socket = connect({ host: hostname, port: Number(port) })
  let isOver = false
  socket.on('error', () => {
    isOver = true
  })
  socket.resume()
  for (const piece of pieces) {
    if (isOver) break
    socket.write(piece)
    if (pauseMs > 0) await wait(pauseMs)
  }
  await wait(stayMs)
  socket.destroy()
}

function uploadOf(environment: string, authorization: string): Buffer {
  const zip = zipOf({ 'index.html': 'an upload that never ends' })
  const head = `--x\r\nContent-Disposition: form-data; name="repository"; filename="a.zip"\r\nContent-Type: application/zip\r\n\r\n`
  const body = Buffer.concat([Buffer.from(head), zip, Buffer.from('\r\n--x--\r\n')])
  const request = [
    `POST /fu/v1/${environment || 'accounts/x/apps/y/environments/z'}:upload HTTP/1.1`,
    'Host: x',
    `Authorization: ${authorization}`,
    'Content-Type: multipart/form-data; boundary=x',
    `Content-Length: ${body.length}`,
    '\r\n',
  ]
  return Buffer.concat([Buffer.from(request.join('\r\n')), body])
}

function slices(bytes: Buffer, count: number): Buffer[] {
  const size = Math.ceil(bytes.length / count)
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * size, (index + 1) * size))
}
