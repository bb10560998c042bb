import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, askRaw, startTestEdge } from '../../../test/support/edge/edge.ts'
import type { Target } from '../routes.ts'

const [APEX, WWW] = ['example.com', 'www.example.com']
const HOSTS: Record<string, Target> = {
  [APEX]: { kind: 'redirect', environment: 'e1', to: WWW },
  [WWW]: { kind: 'empty', environment: 'e1' },
}

test('a host name that redirects keeps method, path, query and port, and leaves the scheme to the visitor', async (t) => {
  const edge = await startTestEdge(t, HOSTS)
  const cases: [host: string, path: string, location: string][] = [
    [APEX, '/', '//www.example.com/'],
    ['EXAMPLE.com.', '/a%2Fb/?q=1&r=%20', '//www.example.com/a%2Fb/?q=1&r=%20'],
    ['example.com:8081', '/a', '//www.example.com:8081/a'],
    // A path that looks like another host stays a path.
    [APEX, '//evil.example.net/', '//www.example.com//evil.example.net/'],
    [APEX, '/\\evil.example.net', '//www.example.com/\\evil.example.net'],
  ]
  for (const [host, path, location] of cases) {
    for (const method of ['GET', 'POST', 'HEAD']) {
      const answer = await ask(edge.port, { host, path, method, body: method === 'POST' ? 'sent' : '' })
      assert.deepEqual([answer.status, answer.headers.location, answer.body.length], [308, location, 0], path)
      const { origin } = new URL(location, 'https://example.com')
      assert.match(origin, /^https:\/\/www\.example\.com(:8081)?$/)
    }
  }
  assert.equal((await ask(edge.port, { host: WWW })).status, 404, 'the other name answers itself')
})

test('an owner who ends a redirect reaches every visitor: browsers keep none', async (t) => {
  const edge = await startTestEdge(t, HOSTS)
  const { headers } = await ask(edge.port, { host: APEX })
  assert.equal(headers['cache-control'], 'public, max-age=0, must-revalidate')
  edge.use({ ...HOSTS, [APEX]: { kind: 'empty', environment: 'e1' } })
  assert.equal((await ask(edge.port, { host: APEX })).status, 404)
})

test('requests that are none, and those for an upgrade, do not get around a redirect', async (t) => {
  const edge = await startTestEdge(t, HOSTS)
  const raw = async (head: string) => {
    const { text, socket } = await askRaw(edge.port, `${head}\r\nConnection: close\r\n\r\n`)
    socket.destroy()
    return [/^HTTP\/1\.1 (\d+)/.exec(text)?.[1], /^location: (.*)\r$/im.exec(text)?.[1]]
  }
  assert.deepEqual(await raw(`GET http://${APEX}/x HTTP/1.1\r\nHost: ${WWW}`), ['308', '//www.example.com/x'])
  assert.deepEqual(await raw(`GET http://${APEX}?x HTTP/1.1\r\nHost: ${WWW}`), ['308', '//www.example.com/?x'])
  assert.deepEqual(await raw(`OPTIONS * HTTP/1.1\r\nHost: ${APEX}`), ['308', '//www.example.com/'])
  assert.deepEqual(await raw(`GET /s HTTP/1.1\r\nHost: ${APEX}\r\nUpgrade: websocket`), ['308', '//www.example.com/s'])
  const [status] = await raw(`GET /a\rset-cookie:x HTTP/1.1\r\nHost: ${APEX}`)
  assert.equal(status, '400')
})

test('a redirect is counted for its environment, as an answer that no app was asked for', async (t) => {
  const edge = await startTestEdge(t, HOSTS)
  await ask(edge.port, { host: APEX })
  const { requests, hits, errors } = edge.takeCounts()?.e1 ?? {}
  assert.deepEqual({ requests, hits, errors }, { requests: 1, hits: 1, errors: 0 })
})
