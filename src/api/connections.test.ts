import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { until } from '../../test/support/until.ts'
import { limitConnections } from './connections.ts'

async function start(t: TestContext, max: number, isExempt?: (address: string) => boolean) {
  const server = createServer((_, response) => response.end('here'))
  limitConnections(server, max, isExempt)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** Connects, sends nothing and stays open. */
  async function hold(from: string): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from })
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }
  async function isAnswered(from: string): Promise<boolean> {
    const socket = await hold(from)
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    let text = ''
    for await (const chunk of socket.on('error', () => undefined)) text += chunk
    return text.includes('here')
  }
  return { hold, isAnswered: (from: string) => isAnswered(from).catch(() => false) }
}

const none = () => false

test('an app that holds connections open keeps itself out, and no other', async (t) => {
  const { hold, isAnswered } = await start(t, 5, none)
  const held: Socket[] = []
  for (let count = 0; count < 5; count++) held.push(await hold('127.0.0.2'))
  assert.equal(await isAnswered('127.0.0.2'), false)
  assert.equal(await isAnswered('127.0.0.3'), true)
  held[0]?.destroy()
  await until(() => isAnswered('127.0.0.2'))
})

test('callers on this machine itself cannot be distinguished, and are not counted', async (t) => {
  const { hold, isAnswered } = await start(t, 2)
  for (let count = 0; count < 5; count++) await hold('127.0.0.1')
  assert.equal(await isAnswered('127.0.0.1'), true)
})
