/** Every command of the client against a hostile server. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CLIENT_COMMANDS } from '../../../src/cli/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { type Manner, startHostileService } from '../../support/service/hostile-service.ts'
import { TIMEOUT_MS } from '../../support/until.ts'

const RUNNER = fileURLToPath(new URL('../../support/run-commands.ts', import.meta.url))

/** Clears the screen, renames the window, types input, reverses the line, and imitates a line of the command. */
const HOSTILE = 'a\x1b[2J\x1b]0;title\x07\x1bP+q\x1b\\\u009b31m\u0085\u202e\u200b\u2028\r\x08\x7f\nFORGED'

const ID = '0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b'
const SHORT = ID.slice(-8)
const AT = ['--account', 'acme', '--app', 'shop', '--env', ID]

/** The arguments of each command that make it ask nothing. */
const TYPED: Record<string, string[][]> = {
  login: [
    ['--user', 'ann@example.com', '--password-stdin'],
    ['--user', ID, '--password-stdin'],
  ],
  logout: [[]],
  deploy: [
    AT,
    [...AT, '--variable', 'A=1'],
    [...AT, '--dry-run'],
    [...AT, '--detach'],
    ['--list-files'],
    ['--yes'],
    ['--account', 'acme'],
  ],
  rebuild: [AT, [...AT, '--detach']],
  logs: [
    AT,
    [...AT, '--build', 'latest'],
    [...AT, '--build', ID, '-f'],
    [...AT, '--requests'],
    [...AT, '--requests', '--id', 'x'],
  ],
  open: [
    [...AT, '--print'],
    ['/x', ...AT, '--print'],
  ],
  // The site of such a service does not exist; and the response of a site is data, which is printed unchanged.
  curl: [['http://127.0.0.1:1/'], ['/', '--app', 'none', '--env', 'none']],
  apps: [['--account', 'acme'], []],
  'apps create': [['shop', '--region', 'UK', '--account', 'acme']],
  'apps delete': [['shop', '--yes', '--force', '--account', 'acme']],
  envs: [AT.slice(0, 4), []],
  'envs create': [['Production', '--cms', 'cms', ...AT.slice(0, 4)]],
  'envs show': [AT.slice(0, 4), [ID, ...AT.slice(0, 4)], [SHORT, ...AT.slice(0, 4)], ['Production', ...AT.slice(0, 4)]],
  'envs change': [
    [ID, '--name', 'other', ...AT.slice(0, 4)],
    [ID, '--max-instances', '2', ...AT.slice(0, 4)],
  ],
  'envs delete': [[ID, '--yes', ...AT.slice(0, 4)]],
  builds: [AT, []],
  'builds show': [AT, [ID, ...AT], [SHORT, ...AT], ['ffffffff', ...AT]],
  'builds cancel': [[ID, ...AT]],
  image: [AT, [ID, ...AT.slice(0, 4)], [...AT, '--json'], []],
  deployments: [AT],
  'deployments show': [AT, [ID, ...AT], [SHORT, ...AT]],
  'deployments activate': [
    [ID, ...AT],
    [SHORT, ...AT],
    ['previous', ...AT],
  ],
  operations: [AT, []],
  triggers: [AT],
  unpin: [AT],
  traffic: [AT, [...AT, '--range', '7d']],
  status: [['--account', 'acme'], []],
  top: [['--once', '--account', 'acme'], ['--once']],
  purge: [AT],
  trace: [['/', ...AT], ['https://shop.example.com/'], ['https://other.example.com/']],
  domains: [AT],
  'domains add': [
    ['new.example.com', ...AT],
    ['shop.example.com', ...AT],
  ],
  'domains check': [AT],
  'domains redirect': [
    ['shop.example.com', 'new.example.com', ...AT],
    ['shop.example.com', '--end', ...AT],
  ],
  'domains remove': [
    ['shop.example.com', ...AT],
    ['unknown.example.com', ...AT],
  ],
  certificates: [['--account', 'acme'], []],
  'certificates upload': [['index.html', 'index.html', '--account', 'acme']],
  'certificates delete': [
    ['shop.example.com', '--yes', '--account', 'acme'],
    [SHORT, '--yes', '--account', 'acme'],
  ],
  'certificates retry': [
    ['shop.example.com', '--account', 'acme'],
    ['unknown.example.com', '--account', 'acme'],
  ],
  audit: [
    ['--account', 'acme'],
    [
      '--account',
      'acme',
      '--app',
      'shop',
      '--by',
      'ann@example.com',
      '--action',
      'log-in',
      '--since',
      '2026-01-31',
      '--json',
    ],
  ],
  previews: [AT.slice(0, 4)],
  'previews delete': [[SHORT, '--yes', ...AT.slice(0, 4)]],
  'previews settings': [AT.slice(0, 4), ['--secrets', 'yes', '--max-count', '2', ...AT.slice(0, 4)]],
  promote: [
    [SHORT, '--to', SHORT, '--yes', ...AT.slice(0, 4)],
    [ID, '--to', ID, '--yes', '--no-build', '--json', ...AT.slice(0, 4)],
  ],
  'content diff': [
    [ID, ID, ...AT],
    [SHORT, SHORT, ...AT],
  ],
  schedules: [AT],
  'schedules create': [
    ['@daily', ...AT],
    ['0 3 * * *', '--action', 'purge', '--time-zone', 'Europe/Berlin', ...AT],
  ],
  'schedules pause': [[SHORT, ...AT]],
  'schedules resume': [[SHORT, ...AT]],
  'schedules delete': [
    [SHORT, '--yes', ...AT],
    ['unknown', '--yes', ...AT],
  ],
  publishes: [AT, ['--kind', 'build', ...AT]],
  'publishes times': [AT, ['--range', '24h', ...AT]],
  'publishes promise': [
    ['60', ...AT],
    ['none', ...AT],
  ],
  notifications: [['--account', 'acme'], []],
  'notifications create': [
    ['webhook', 'https://hooks.example.com/', '--account', 'acme'],
    ['email', 'team@example.com', '--about', 'build-failed', '--only-app', 'shop', '--account', 'acme'],
  ],
  'notifications test': [[SHORT, '--account', 'acme']],
  'notifications deliveries': [[SHORT, '--account', 'acme']],
  'notifications regenerate': [[SHORT, '--yes', '--account', 'acme']],
  'notifications disable': [[SHORT, '--account', 'acme']],
  'notifications enable': [[SHORT, '--account', 'acme']],
  'notifications delete': [
    [SHORT, '--yes', '--account', 'acme'],
    ['unknown', '--yes', '--account', 'acme'],
  ],
  repository: [AT],
  'repository connect': [['https://git.example.com/a/b', '--branch', 'main', '--poll', '5', ...AT]],
  'repository change': [['--branch', 'next', '--poll', '0', ...AT]],
  'repository regenerate': [['--yes', ...AT]],
  'repository fetch': [AT],
  'repository disconnect': [['--yes', ...AT]],
  protection: [AT],
  'protection password': [AT, [...AT, '--end']],
  'protection addresses': [
    ['203.0.113.0/24', ...AT],
    ['--end', ...AT],
  ],
  variables: [AT, [...AT, '--show']],
  'variables set': [['A=1', ...AT]],
  'variables unset': [['A', ...AT]],
  'webhooks show': [AT],
  'webhooks create': [AT],
  'webhooks regenerate': [[...AT, '--yes']],
  'webhooks delete': [[...AT, '--yes']],
  'webhooks quiet': [['5', ...AT]],
}

const folder = await temporaryFolder({ after })
const project = join(folder, 'project')
await mkdir(join(project, '.git'), { recursive: true })
await writeFile(join(project, 'index.html'), 'hello')
await writeFile(join(project, '.env'), 'A=1')
const ENVIRONMENT = { PATH: process.env.PATH, HOME: folder, TERM: 'xterm' }

/** The output of all these commands, on both streams. The input is a password. */
async function written(commands: string[][], env: NodeJS.ProcessEnv, cwd = project): Promise<string> {
  const args = [RUNNER, ...commands.map((words) => JSON.stringify(words))]
  const child = spawn(process.execPath, args, { cwd, env, signal: AbortSignal.timeout(TIMEOUT_MS) })
  child.stdin.end('password\n')
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.equal(code, 0, stdout + stderr)
  return stdout + stderr
}

/** Each match, with its surrounding text. */
const around = (output: string, pattern: RegExp): string[] =>
  [...output.matchAll(pattern)].slice(0, 10).map(({ index }) => output.slice(Math.max(0, index - 200), index + 50))

function isHarmless(output: string) {
  assert.deepEqual(around(output, /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--\n]/gv), [], 'control characters')
  assert.deepEqual(around(output, /^FORGED/gm), [], 'forged lines')
}

const commands = Object.entries(TYPED).flatMap(([name, typed]) =>
  typed.flatMap((words) => [
    [...name.split(' '), ...words],
    [...name.split(' '), ...words, '--json'],
  ]),
)

/** What it writes is messages of a protocol, whose texts `mcp/results.test.ts` is about. */
const OF_A_PROTOCOL = 'mcp'

test('every command is tested against a hostile service', () => {
  const names = CLIENT_COMMANDS.map(({ name }) => name).filter((name) => name !== OF_A_PROTOCOL)
  assert.deepEqual(Object.keys(TYPED).sort(), names.sort())
})

const MANNERS: Manner[] = ['names are right', 'every text is hostile', 'every call fails', 'every operation fails']

for (const manner of MANNERS) {
  test(`no command prints a control character of a service where ${manner}, nor a forged line`, async (t) => {
    const url = await startHostileService(t, HOSTILE, manner)
    const env = { ...ENVIRONMENT, HEADLAND_URL: url, HEADLAND_API_USER: ID, HEADLAND_API_PASSWORD: 'p' }
    const output = await written(commands, env)
    assert.equal(output.match(/^--- /gm)?.length, commands.length, 'all commands ended')
    isHarmless(output)
    assert.match(output, /\\u202e/, 'and hidden characters are shown')
    // A process reads one password.
    isHarmless(await written([['login', '--user', ID, '--password-stdin']], env))
  })
}

const NAME = HOSTILE.replaceAll('/', '')
const PROJECTS: Record<string, Record<string, string>> = {
  'a field of .headland.json': { '.headland.json': JSON.stringify({ account: HOSTILE }), 'index.html': '' },
  'a field that it may not have': { '.headland.json': JSON.stringify({ [HOSTILE]: 'x' }), 'index.html': '' },
  'an environment that is not there': {
    '.headland.json': JSON.stringify({ environment: 'a\u202eb' }),
    'index.html': '',
  },
  'a file that is no JSON': { '.headland.json': HOSTILE, 'index.html': '' },
  'what .env.example holds': { '.env.example': `A="${HOSTILE}"\n${HOSTILE}=1\n`, 'index.html': '' },
  'the name of a file': { [NAME]: '', 'index.html': '' },
  'the name of a file that is not uploaded': { [`.env.${NAME}`]: '', 'index.html': '' },
  'the name of a folder': { [`${NAME}/.env`]: '', 'index.html': '' },
  'the name of a package': { 'package.json': JSON.stringify({ name: HOSTILE }), 'a\u202eb': '' },
}

test('no file of a project makes a command print a control character or a forged line', async (t) => {
  const url = await startHostileService(t, HOSTILE, 'names are right')
  const env = { ...ENVIRONMENT, HEADLAND_URL: url, HEADLAND_API_USER: ID, HEADLAND_API_PASSWORD: 'p' }
  for (const [name, files] of Object.entries(PROJECTS)) {
    const at = await temporaryFolder(t)
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(at, path, '..'), { recursive: true })
      await writeFile(join(at, path), content)
    }
    const output = await written(
      [['deploy'], ['deploy', '--list-files'], ['envs', 'show'], ['builds', '--json']],
      env,
      at,
    )
    assert.doesNotThrow(() => isHarmless(output), name)
  }
})
