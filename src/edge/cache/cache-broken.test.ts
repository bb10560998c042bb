/** Bodies that are not what was announced. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, edgeBefore, startRawUpstream } from '../../../test/support/edge/edge.ts'

test('a body that is not what was announced is never stored, and never looks whole to a reader', async (t) => {
  const HEAD = 'HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n'
  const broken: Record<string, (end: () => void, write: (text: string) => void, reset: () => void) => void> = {
    '/short': (end, write) => {
      write(`${HEAD}Content-Length: 100\r\n\r\nonly this`)
      end()
    },
    '/chunk': (end, write) => {
      write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n100\r\nonly this`)
      end()
    },
    '/no-last-chunk': (end, write) => {
      write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n`)
      end()
    },
    '/bad-chunk': (end, write) => {
      write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\nzz\r\n`)
      end()
    },
    '/reset': (_, write, reset) => {
      write(`${HEAD}\r\nonly this`)
      setTimeout(reset, 30)
    },
  }
  let asked = 0
  const app = await startRawUpstream(t, (socket) => {
    socket.on('data', (chunk) => {
      asked++
      const [, path = ''] = /^GET (\S+)/.exec(String(chunk)) ?? []
      broken[path]?.(
        () => socket.end(),
        (text) => socket.write(text),
        () => socket.resetAndDestroy(),
      )
    })
  })
  const edge = await edgeBefore(t, app)
  for (const path of Object.keys(broken)) {
    const before = asked
    for (let round = 0; round < 2; round++) {
      const all = [ask(edge.port, { path }), ask(edge.port, { path })].map((answer) =>
        answer.then(
          ({ status }) => status,
          () => 'broken off',
        ),
      )
      for (const outcome of await Promise.all(all))
        assert.ok(outcome === 'broken off' || outcome === 502, `${path}: ${outcome}`)
    }
    assert.ok(asked >= before + 2, `${path} is not stored`)
  }
  assert.deepEqual(edge.troubles, [])
})

test('a body that ends with its connection is whole, and may be stored', async (t) => {
  let asked = 0
  const app = await startRawUpstream(t, (socket) => {
    socket.on('data', () => {
      asked++
      socket.end('HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\nall of it')
    })
  })
  const edge = await edgeBefore(t, app)
  for (let round = 0; round < 2; round++) assert.equal((await ask(edge.port)).text, 'all of it')
  assert.equal(asked, 1)
})

test('more than was announced is cut off, and its connection is not used again', async (t) => {
  let connections = 0
  const app = await startRawUpstream(t, (socket) => {
    connections++
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother')
    })
  })
  const edge = await edgeBefore(t, app)
  for (let round = 1; round <= 3; round++) {
    assert.equal((await ask(edge.port, { path: `/${round}` })).text, 'body')
    assert.equal(connections, round)
  }
})
