import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { liveText, startText } from '../../contract/index.ts'
import { createService } from '../connection/service.ts'
import { beginningOf, markInWords } from './app-log.ts'
import { logOfApp } from './log-lines.ts'

const LIVE = '0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b'
const OTHER = '0197a3c4-5b6d-7e8f-9a0b-1c2dffffffff'

type Line = [phase: string, stream: string, text: string]

/** A service whose app has this log; `asked` are the lines before those that were read. */
async function serve(t: TestContext, lines: readonly Line[]) {
  const asked: number[] = []
  const server = createServer((request, response) => {
    const offset = new URL(request.url ?? '', 'http://x').searchParams.get('offset')
    if (offset !== null) asked.push(Number(offset))
    response.setHeader('x-next-offset', String(lines.length))
    const rows = lines.map(
      ([phase, stream, text], index) => `${index + 1} 2026-01-01T00:00:00.000Z ${phase} ${stream} ${text}\n`,
    )
    response.end(rows.slice(Number(offset ?? 0)).join(''))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const log = logOfApp(createService(url, undefined), { account: 'a', app: 'b', environment: 'c' })
  return { asked, begin: () => beginningOf(log, `a/deployments/${LIVE}`) }
}

const written = (count: number): Line[] => Array.from({ length: count }, () => ['-', 'stdout', 'a line'])
const started = (id: string): Line => ['START', 'service', startText(id, id)]

test('a log that is followed begins at the last start of what is live, whatever else started since', async (t) => {
  const lines = [
    ...written(5),
    started(LIVE),
    ...written(5),
    started(LIVE),
    ...written(5),
    started(OTHER),
    ...written(5),
  ]
  assert.deepEqual(await (await serve(t, lines)).begin(), { after: 11 })
})

test('a site of files begins where it went live, and what an app writes is no start', async (t) => {
  const lines: Line[] = [
    ...written(2),
    ['LIVE', 'service', liveText(LIVE, LIVE)],
    ['START', 'stdout', startText(LIVE, LIVE)],
  ]
  assert.deepEqual(await (await serve(t, lines)).begin(), { after: 2 })
})

test('the search for a start that is too far back is limited, and a note says so', async (t) => {
  const { begin, asked } = await serve(t, [started(LIVE), ...written(5000)])
  const { after, note } = await begin()
  assert.equal(after, 4901)
  assert.match(note ?? '', /more than 1,000 lines ago: these are the last 100/)
  assert.deepEqual(asked, [4001])
})

test('a short log without marks, of an earlier version, is shown by its end', async (t) => {
  assert.deepEqual(await (await serve(t, written(150))).begin(), { after: 50 })
  assert.deepEqual(await (await serve(t, [])).begin(), { after: 0 })
})

test('a mark is one line, without what a terminal obeys', () => {
  const line = { number: 1, time: 0, stream: 'service', phase: 'ENDED', text: 'x\x1b[2J\nFORGED\u202e' } as const
  const words = markInWords({ paint: (_, text) => text }, { mark: 'ENDED' }, '10:00:00', line)
  assert.equal(words, '── 10:00:00  x FORGED\\u202e ──')
})
