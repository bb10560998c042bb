import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openClusterPort } from './cluster-port.ts'
import { connectPeer } from './follow.ts'
import { joinToken } from './join-token.ts'
import { type Greeting, type Peer, PROTOCOL } from './peer.ts'

const KEY = 'the key of the control processes'
const greetingOf = (role: string, topic?: string): Greeting => ({
  ...{ protocol: PROTOCOL, role, process: 'test', version: 'test' },
  ...(topic === undefined ? {} : { topic }),
})

async function openPort(t: TestContext) {
  const refused = Promise.withResolvers<unknown>()
  const address = { host: '127.0.0.1', port: 0, key: KEY }
  const opened = await openClusterPort({ address, greeting: greetingOf('control'), onRefused: refused.resolve })
  t.after(opened.close)
  const token = joinToken(KEY, { role: 'edge', name: 'e1' })
  const connect = async (topic?: string) => {
    const peer = await connectPeer<string, string>(
      { host: '127.0.0.1', port: opened.port ?? 0, token },
      greetingOf('edge', topic),
    )
    t.after(peer.close)
    return peer
  }
  return { ...opened, connect, refused: refused.promise }
}

test('a connection goes to the one that serves its topic', async (t) => {
  const { serve, connect } = await openPort(t)
  const routes = Promise.withResolvers<Peer<string, string>>()
  const instances = Promise.withResolvers<Peer<string, string>>()
  serve({ role: 'edge' }, routes.resolve)
  serve({ role: 'edge', topic: 'instances' }, instances.resolve)
  await Promise.all([connect(), connect('instances')])
  assert.equal((await routes.promise).greeting.topic, undefined)
  assert.equal((await instances.promise).greeting.topic, 'instances')
})

test('a connection for a topic that is not served is closed', async (t) => {
  const { serve, connect, refused } = await openPort(t)
  serve({ role: 'edge' }, () => assert.fail('this topic was not asked for'))
  const peer = await connect('instances')
  await peer.closed
  assert.match(String(await refused), /nothing is here for the topic instances of the role edge/)
})
