/** The output of a service that is started in a terminal, which is a real pseudo terminal here. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../support/folder.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

test('a service in a terminal logs lines for people, and says as JSON that it is ready', async (t) => {
  const env = {
    PATH: process.env.PATH,
    SHELL: '/bin/sh',
    TERM: 'xterm-256color',
    NO_COLOR: '1',
    HEADLAND_DATA_DIR: await temporaryFolder(t),
    HEADLAND_LISTEN: '127.0.0.1:0',
    HEADLAND_EDGE_LISTEN: '127.0.0.1:0',
  }
  const child = spawn('script', ['-qefc', `exec '${process.execPath}' '${HEADLAND}' serve`, '/dev/null'], { env })
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let text = ''
  const shown = Promise.withResolvers<void>()
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
    if (/\{"event":"ready".*\}\s/.test(text) && text.includes('the edge listens')) shown.resolve()
  })
  await Promise.race([shown.promise, closed.then(() => assert.fail(text))])
  // Ctrl-C, as a user ends it.
  child.stdin.write('\u0003')
  await closed
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const lineWith = (words: string): string => lines.find((line) => line.includes(words)) ?? assert.fail(text)
  assert.match(lineWith('the edge listens'), /^\d\d:\d\d:\d\d\.\d{3} INFO {2}the edge listens {2}edgePid=\d+ port=\d+$/)
  assert.match(lineWith('Password'), /^ {4}Password {3}\S+$/)
  assert.deepEqual(Object.keys(JSON.parse(lineWith('"event":"ready"'))), ['event', 'api', 'edge'])
  assert.match(lineWith('stopped'), /^(\^C)?\d\d:\d\d:\d\d\.\d{3} INFO {2}stopped$/)
  assert.deepEqual(
    lines.filter((line) => line.startsWith('{"level"')),
    [],
  )
})
