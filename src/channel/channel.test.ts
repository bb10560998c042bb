import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { until } from '../../test/support/until.ts'
import { followPeer, type Greeting, listenToPeers, type Peer, PROTOCOL } from './index.ts'

type Text = { text: string }
type TextPeer = Peer<Text, Text>

const greetingOf = (role: string, protocol = PROTOCOL): Greeting => ({ protocol, role, process: '1', version: '1.0.0' })

async function listen(t: TestContext, path: string) {
  const peers: TextPeer[] = []
  const refused: unknown[] = []
  const server = await listenToPeers<Text, Text>({
    address: path,
    greeting: greetingOf('control'),
    onPeer: (peer) => peers.push(peer),
    onRefused: (error) => refused.push(error),
  })
  t.after(() => server.close())
  return { ...server, peers, refused }
}

function follow(t: TestContext, path: string, protocol = PROTOCOL) {
  const peers: TextPeer[] = []
  const client = followPeer<Text, Text>({
    addresses: [path],
    greeting: greetingOf('edge', protocol),
    onPeer: (peer) => peers.push(peer),
  })
  t.after(() => client.stop())
  return { ...client, peers }
}

const pathIn = async (t: TestContext) => join(await temporaryFolder(t), 'c.sock')

test('messages arrive in order, also those sent before there was a listener', async (t) => {
  const path = await pathIn(t)
  const server = await listen(t, path)
  const client = follow(t, path)
  await until(() => client.peers.length === 1 && server.peers.length === 1)
  for (let n = 0; n < 1000; n++) client.peers[0]?.send({ text: `line\n${n}` })
  const received: string[] = []
  server.peers[0]?.onMessage(({ text }) => received.push(text))
  await until(() => received.length === 1000)
  assert.deepEqual(
    received,
    Array.from({ length: 1000 }, (_, n) => `line\n${n}`),
  )
  assert.equal(server.peers[0]?.greeting.role, 'edge')
})

test('a listener is not called while it is added, though messages are there already', async (t) => {
  const path = await pathIn(t)
  const server = await listen(t, path)
  const client = follow(t, path)
  await until(() => client.peers.length === 1 && server.peers.length === 1)
  client.peers[0]?.send({ text: 'early' })
  client.peers[0]?.close()
  await server.peers[0]?.closed
  let isSetUp = false
  const seen: boolean[] = []
  server.peers[0]?.onMessage(() => seen.push(isSetUp))
  isSetUp = true
  await until(() => seen.length === 1)
  assert.deepEqual(seen, [true])
})

test('a connection that breaks is made again, also with a process that starts later', async (t) => {
  const path = await pathIn(t)
  const client = follow(t, path)
  const first = await listen(t, path)
  await until(() => client.peers.length === 1)
  await first.close()
  await client.peers[0]?.closed
  await listen(t, path)
  await until(() => client.peers.length === 2)
})

test('a process that speaks another protocol is refused by both sides', async (t) => {
  const path = await pathIn(t)
  const server = await listen(t, path)
  const client = follow(t, path, PROTOCOL + 1)
  await until(() => server.refused.length > 0)
  assert.match(String(server.refused[0]), /edge process of version 1\.0\.0 speaks another protocol/)
  assert.deepEqual([client.peers, server.peers], [[], []])
})

test('a slow reader is noticed, and waited for', async (t) => {
  const path = await pathIn(t)
  const server = await listen(t, path)
  const client = follow(t, path)
  await until(() => client.peers.length === 1 && server.peers.length === 1)
  const [peer] = client.peers
  let sent = 0
  while (peer?.send({ text: 'x'.repeat(100_000) })) sent++
  await peer?.drained()
  let received = 0
  server.peers[0]?.onMessage(() => received++)
  await until(() => received === sent + 1)
})
