/** Whether the log is text or JSON, on real pipes and real pseudo terminals. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const SCRIPT = `
  import { createLog } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)}
  createLog('info', process.argv[1]).info({ port: 8081 }, 'it listens')`

/** The stderr of a program with this setting and this environment. Escapes are made visible. */
async function logged({ format = 'auto', isTerminal = false, env = {} }): Promise<string> {
  const command = [process.execPath, '--input-type=module', '-e', SCRIPT, format]
  // `script` gives the command a terminal of its own, and prints its output.
  const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const [file = '', ...args] = isTerminal ? ['script', '-qefc', quoted, '/dev/null'] : command
  const running = promisify(execFile)(file, args, {
    env: { PATH: process.env.PATH, SHELL: '/bin/sh', TERM: 'xterm-256color', ...env },
  })
  running.child.stdin?.end()
  const { stdout, stderr } = await running
  return `${stdout}${stderr}`.replaceAll('\r\n', '\n').replaceAll('\x1b', 'ESC')
}

const JSON_LINE = /^\{"level":"info","time":"[\d-]+T[\d:.]+Z","port":8081,"msg":"it listens"\}\n$/
const TEXT = /^\d\d:\d\d:\d\d\.\d{3} INFO {2}it listens {2}port=8081\n$/
const COLOURED = /^ESC\[2m[\d:.]+ESC\[22m ESC\[32mINFO ESC\[39m it listens {2}ESC\[2mport=ESC\[22m8081\n$/

const FORCED = { FORCE_COLOR: '1' }
const NONE = { NO_COLOR: '1' }

for (const [what, given, expected] of [
  ['a pipe gets JSON', {}, JSON_LINE],
  ['a pipe gets JSON, whatever the settings for colours are', { env: FORCED }, JSON_LINE],
  ['a terminal gets text in colours', { isTerminal: true }, COLOURED],
  ['a terminal gets text without colours where NO_COLOR is set', { isTerminal: true, env: NONE }, TEXT],
  ['a terminal that cannot show colours gets none', { isTerminal: true, env: { TERM: 'dumb' } }, TEXT],
  ['a terminal gets JSON where the setting says so', { isTerminal: true, format: 'json' }, JSON_LINE],
  ['a pipe gets text where the setting says so', { format: 'text' }, TEXT],
  ['a pipe gets colours where FORCE_COLOR asks for them', { format: 'text', env: FORCED }, COLOURED],
] as const) {
  test(what, async () => assert.match(await logged(given), expected))
}
