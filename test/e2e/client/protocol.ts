/** What a client must not do: the server answers as JSON-RPC says, and goes on. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { TIMEOUT_MS } from '../../support/until.ts'
import { environmentOf, program } from './program.ts'

/** A server, and its answers in their order. */
function started() {
  const child = spawn(program.command, program.args, {
    cwd: program.cwd,
    env: environmentOf(),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const write = (text: string) => child.stdin.write(text)
  return {
    child,
    write,
    send: (message: unknown) => write(`${JSON.stringify(message)}\n`),
    // biome-ignore lint/suspicious/noExplicitAny: tests read it freely
    next: async (): Promise<any> => JSON.parse((await lines.next()).value ?? 'null'),
  }
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const request = (id: unknown, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params })
const initialize = (protocolVersion: string) =>
  request(0, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } })

const server = started()

test('what is wrong with a message is answered with the code of JSON-RPC', async () => {
  const wrong: [text: string, id: unknown, code: number][] = [
    ['{"jsonrpc": "2.0", "id": 1, "method":', null, -32700],
    ['"a text"', null, -32600],
    ['[]', null, -32600],
    ['{"id": 1, "method": "ping"}', 1, -32600],
    ['{"jsonrpc": "2.0", "id": null, "method": "ping"}', null, -32600],
    ['{"jsonrpc": "2.0", "id": 2}', 2, -32600],
    ['{"jsonrpc": "2.0", "id": 3, "method": "resources/list"}', 3, -32601],
    ['{"jsonrpc": "2.0", "id": 4, "method": "ping", "params": []}', 4, -32602],
    ['{"jsonrpc": "2.0", "id": 5, "method": "tools/list"}', 5, -32602],
    [JSON.stringify(request(6, 'tools/call', { name: 'x', _meta: META })), 6, -32602],
    [JSON.stringify(request(7, 'tools/call', { name: 'purge', arguments: [], _meta: META })), 7, -32602],
  ]
  for (const [text, id, code] of wrong) {
    server.write(`${text}\n`)
    const { jsonrpc, id: answered, error } = await server.next()
    assert.deepEqual([jsonrpc, answered, error.code], ['2.0', id, code], text)
  }
})

test('arguments that do not fit are a result that a model can read', async () => {
  server.send(request(8, 'tools/call', { name: 'list_builds', arguments: { limit: 1000, x: 1 }, _meta: META }))
  const { result } = await server.next()
  assert.deepEqual([result.isError, result.structuredContent.error.reason], [true, 'WRONG_ARGUMENTS'])
})

test('a line without end is refused and takes no memory, and the next one is read', async () => {
  const residentBytes = async () =>
    Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]) * 1024
  const before = await residentBytes()
  const piece = Buffer.alloc(1024 * 1024, 'x')
  for (let sent = 0; sent < 300; sent++) {
    if (!server.child.stdin.write(piece)) await once(server.child.stdin, 'drain')
  }
  const grown = (await residentBytes()) - before
  assert.ok(grown < 150 * 1024 * 1024, `${grown} bytes`)
  server.write('\n')
  assert.equal((await server.next()).error.code, -32600)
  server.send(request(9, 'ping'))
  assert.deepEqual((await server.next()).result, {})
})

test('every request may say its own revision, and one that is not known is answered with those that are', async () => {
  server.send(request(10, 'server/discover', { _meta: META }))
  const { result } = await server.next()
  assert.deepEqual([result.resultType, result.supportedVersions], ['complete', ['2026-07-28']])
  server.send(
    request(11, 'tools/list', { _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } }),
  )
  const { error } = await server.next()
  assert.deepEqual([error.code, error.data], [-32022, { supported: ['2026-07-28'], requested: '2099-01-01' }])
})

test('an answer to a question counts once, for the call that was asked about and for no other', async () => {
  const _meta = { ...META, 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
  const call = (id: number, paths: string[], more = {}) =>
    server.send(
      request(id, 'tools/call', {
        name: 'purge',
        arguments: { paths, confirm: 'default/shop/Production' },
        _meta,
        ...more,
      }),
    )
  call(12, ['/a'])
  const { result: question } = await server.next()
  assert.equal(question.resultType, 'input_required')
  const [key = ''] = Object.keys(question.inputRequests)
  const answer = {
    requestState: question.requestState,
    inputResponses: { [key]: { action: 'accept', content: { go: true } } },
  }
  call(13, ['/b'], answer)
  assert.equal((await server.next()).result.resultType, 'input_required', 'another call')
  call(14, ['/a'], answer)
  assert.equal((await server.next()).result.resultType, 'input_required', 'a token that was used')
  call(15, ['/a'], { ...answer, requestState: 'made up' })
  assert.equal((await server.next()).result.resultType, 'input_required', 'a token that nothing gave')
})

for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
  test(`a client of ${version} is answered by that revision; batches are of the first two`, async () => {
    const { send, next, child } = started()
    send(initialize(version))
    assert.equal((await next()).result.protocolVersion, version)
    send([request(1, 'ping'), { jsonrpc: '2.0', method: 'notifications/initialized' }, request(2, 'ping')])
    const answered = await next()
    if (version < '2025-06')
      assert.deepEqual(
        answered.map(({ id }: { id: number }) => id),
        [1, 2],
      )
    else assert.equal(answered.error.code, -32600)
    const exited = once(child, 'exit', { signal: AbortSignal.timeout(TIMEOUT_MS) })
    child.stdin.end()
    assert.deepEqual(await exited, [0, null], 'it ends with its input')
  })
}

test('a client of an unknown revision is told the newest one that begins so', async () => {
  const { send, next } = started()
  send(initialize('2023-01-01'))
  assert.equal((await next()).result.protocolVersion, '2025-11-25')
})
