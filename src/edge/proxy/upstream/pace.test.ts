import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import {
  ask,
  edgeBefore,
  HOST,
  serverTarget,
  startTestEdge,
  startUpstream,
} from '../../../../test/support/edge/edge.ts'
import { until } from '../../../../test/support/until.ts'
import { createPace } from './pace.ts'

test('an environment that had its share waits for the next turn, and others do not', async () => {
  const pace = createPace({ bytesPerTurn: 100, turnMs: 1 })
  let turns = 0
  const goOn = () => turns++
  assert.equal(pace.isSpent('one', 99, goOn), false)
  assert.equal(pace.isSpent('one', 1, goOn), true)
  assert.equal(pace.isSpent('other', 99, goOn), false)
  await until(() => turns === 1)
  assert.equal(pace.isSpent('one', 99, goOn), false)
})

test('a response longer than many shares comes whole', async (t) => {
  const body = Buffer.alloc(5_000_000, 'x')
  const upstream = await startUpstream(t, (_, response) => response.end(body))
  const edge = await edgeBefore(t, upstream, { environmentBytesPerTurn: 100_000, turnMs: 1 })
  assert.ok((await ask(edge.port)).body.equals(body))
})

test('while one app sends without end, another is asked and answers', async (t) => {
  const endless = await startUpstream(t, (_, response) => {
    const send = () => {
      while (response.write(Buffer.alloc(65_536)));
    }
    response.on('drain', send)
    send()
  })
  const quick = await startUpstream(t, (_, response) => response.end('quick'))
  const edge = await startTestEdge(t, {
    'endless.localhost': { ...serverTarget(endless.port, 'i1', 'd1'), environment: 'e1' },
    [HOST]: { ...serverTarget(quick.port, 'i2', 'd2'), environment: 'e2' },
  })
  let bytes = 0
  for (let readers = 0; readers < 5; readers++) {
    const reader = connect(edge.port, '127.0.0.1')
    t.after(() => reader.destroy())
    reader.on('data', (chunk) => {
      bytes += chunk.length
    })
    reader.write('GET / HTTP/1.1\r\nHost: endless.localhost\r\n\r\n')
  }
  await until(() => bytes > 1_000_000)
  for (let asked = 0; asked < 20; asked++) assert.equal((await ask(edge.port)).text, 'quick')
})
