/** The first hour with the command line: variables, misspelt names, short ids, following a log. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { type resources, shortId } from '../../../src/contract/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { type Files, nodeServer, page } from '../../support/service/deploy.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { createCommandLine, eventsOf, HEADLAND } from '../../support/service/headland.ts'
import { startService, type TestService } from '../../support/service/service.ts'

let service: TestService = await startService({ after }, { settings: { HEADLAND_ARCHIVE_BYTES: '3000000' } })
const as = await service.login('developer')
const top = await temporaryFolder({ after })
const { begin, headland, inTerminal, project } = createCommandLine(
  {
    PATH: process.env.PATH,
    HOME: top,
    TERM: 'xterm',
    HEADLAND_URL: service.api,
    HEADLAND_API_USER: as.userId,
    HEADLAND_API_PASSWORD: as.password,
  },
  top,
)

const read = async (path: string) => (await service.call(`/v1/${path}`, { as })).json

const environmentsOf = async (app: string): Promise<resources.Environment[]> =>
  (await read(`accounts/default/apps/${app}/environments`)).environments

const keysOf = ({ shellVariables }: resources.Environment) => shellVariables.map(({ key }) => key).sort()

/** Its build prints the variables that it finds. */
const printing: Files = {
  'package.json': JSON.stringify({ scripts: { build: 'node build.js' } }),
  'build.js': `const { A, B, NEXT_PUBLIC_C } = process.env
    console.log('found', (A ?? '').length, (B ?? '').length, NEXT_PUBLIC_C)
    require('node:fs').mkdirSync('dist', { recursive: true })
    require('node:fs').writeFileSync('dist/index.html', 'made at ' + Date.now())`,
  '.env.example': 'A=example\nB=example\nPORT=3000\nNEXT_PUBLIC_C=https://example.com\nD=\n',
  '.env': 'A=mine\nD=mine\n',
  'production.env': 'A=from-the-file\nB="two words"\n',
}

const FIRST = ['--region', 'EU-W', '--env', 'Production', '--cms', 'wordpress']

test('the first build has the variables of the deploy command, and the names without a value are listed', async () => {
  const cwd = await project(printing)
  const given = ['--variables-file', 'production.env', '--variable', 'A=1234', '--variable', 'NEXT_PUBLIC_C=c']
  const { code, stdout, stderr } = await headland(['deploy', '--app', 'printing', ...FIRST, ...given, '--json'], {
    cwd,
  })
  assert.equal(code, 0, stderr + stdout)
  const events = eventsOf(stdout)
  assert.ok(events.some(({ event, text }) => event === 'line' && text === 'found 4 9 c'))
  const notes = events.flatMap(({ event, message }) => (event === 'note' ? [String(message)] : []))
  assert.match(
    notes.join('\n'),
    /\.env\.example names variables that have no value: D\.\nTo set them: headland variables set D=VALUE/,
  )
  const [made] = await environmentsOf('printing')
  assert.deepEqual(made && keysOf(made), ['A', 'B', 'NEXT_PUBLIC_C'], 'nothing of .env')

  // A later deploy has them set before its build. It is not the first, so `.env.example` is not mentioned.
  const again = await headland(['deploy', '--variable', 'B', '--json'], { cwd, input: 'longer than it was\n' })
  assert.equal(again.code, 0, again.stderr + again.stdout)
  const later = eventsOf(again.stdout)
  assert.deepEqual(later.find(({ event }) => event === 'variables')?.set, ['B'])
  assert.ok(later.some(({ event, text }) => event === 'line' && text === 'found 4 18 c'))
  assert.ok(!later.some(({ message }) => /names variables/.test(String(message))))

  // A refused upload keeps the variables that were set, and says so.
  await writeFile(join(cwd, 'large.bin'), randomBytes(3_100_000))
  const refused = await headland(['deploy', '--variable', 'E=1'], { cwd })
  await rm(join(cwd, 'large.bin'))
  assert.equal(refused.code, 1, refused.stderr)
  assert.match(refused.stderr, /Set E\.\n[\s\S]*The variables are set all the same[\s\S]*ARCHIVE_TOO_LARGE/)
})

test('a variable that cannot be set ends the deploy before anything is created or sent', async () => {
  const cwd = await project({ ...page('never'), 'bad.env': 'A=1\nexport B\n' })
  for (const [given, says] of [
    [['--variables-file', 'bad.env'], /bad\.env: line 2 is neither NAME=VALUE nor a comment/],
    [['--variables-file', 'none.env'], /none\.env cannot be read/],
    [['--env-file', 'bad.env'], /bad\.env: line 2 is neither/],
    [['--variable', 'PORT=1'], /PORT is set by the service/],
    [['--variable', '1A=1'], /'1A' is not the name of a variable/],
  ] as const) {
    const { code, stderr } = await headland(['deploy', '--app', 'unmade', ...FIRST, ...given], { cwd })
    assert.equal(code, 2, stderr)
    assert.match(stderr, says)
  }
  assert.equal((await service.call('/v1/accounts/default/apps/unmade', { as })).status, 404)
})

test('a file with variables is not sent, and Node does not load it', async () => {
  const cwd = await project({
    ...page('x'),
    'my.env': 'NODE_OPTIONS=--require ./evil.js\n',
    'evil.js': 'process.exit(66)',
  })
  const listed = await headland(['deploy', '--variables-file', 'my.env', '--list-files'], { cwd })
  assert.deepEqual([listed.code, listed.stdout], [0, 'evil.js\nindex.html\n'], listed.stderr)
  // Node itself acts on --env-file, unless `--` ends its own arguments.
  const env = { PATH: process.env.PATH, HOME: top }
  const args = ['deploy', '--env-file', 'my.env', '--list-files']
  const { stdout } = await promisify(execFile)(HEADLAND, args, { cwd, env })
  assert.equal(stdout, 'evil.js\nindex.html\n')
})

test('in a terminal the command asks for the names of .env.example, without showing secrets, and Return skips one', async () => {
  const cwd = await project(printing)
  const deploying = inTerminal(`deploy --app asking ${FIRST.join(' ')}`, cwd)
  await deploying.until(/\.env\.example names 4 variables: A, B, NEXT_PUBLIC_C, D\s[\s\S]*values now\? \[Y\/n\] /)
  deploying.child.stdin.write('\r')
  await deploying.until(/ A \(such as example\): /)
  deploying.child.stdin.write('unseen\r')
  await deploying.until(/ B \(such as example\): /)
  deploying.child.stdin.write('\r')
  await deploying.until(/ NEXT_PUBLIC_C \(such as https:\/\/example\.com\): /)
  deploying.child.stdin.write('seen\r')
  await deploying.until(/ D: /)
  deploying.child.stdin.write('\r')
  await deploying.until(/variables {4}A, NEXT_PUBLIC_C\s[\s\S]*Go on\? \[Y\/n\] /)
  deploying.child.stdin.write('\r')
  const { code, stdout } = await deploying.ended
  assert.equal(code, 0, stdout)
  assert.doesNotMatch(stdout, /unseen/)
  assert.match((await headland(['logs', '--build', 'latest'], { cwd })).stdout, /found 6 0 seen/)
})

test('a misspelt environment or app is not created: the closest name is suggested, and how to create a new one', async () => {
  const cwd = await project(page('spelt'))
  const first = await headland(['deploy', '--app', 'orthography', ...FIRST], { cwd })
  assert.equal(first.code, 0, first.stderr)
  await rm(join(cwd, '.headland.json'))
  for (const [args, says] of [
    [
      ['--app', 'orthography', '--env', 'prodction'],
      /Did you mean 'Production'\? To make it all the same: headland deploy --app orthography --env prodction --cms wordpress --create\n/,
    ],
    [
      ['--app', 'orthography', '--env', 'prodction', '--cms', 'x', '--yes'],
      /Did you mean 'Production'\?.* --cms x --create --yes\n/,
    ],
    [['--app', 'ortography', ...FIRST], /there is no app 'ortography'\. Did you mean 'orthography'\?/],
    [['--app', 'orthography', '--account', 'defualt'], /Did you mean 'default'\?/],
    [['--app', 'orthography', '--environment', 'x'], /has no option --environment\. Did you mean '--env'\?/],
  ] as const) {
    const { code, stderr, stdout } = await headland(['deploy', ...args], { cwd })
    assert.ok(code === 2 || /ACCOUNT_NOT_FOUND/.test(stderr), stderr)
    assert.match(stderr, says)
    assert.equal(stdout, '')
  }
  assert.equal((await environmentsOf('orthography')).length, 1)

  const asked = inTerminal('deploy --app orthography --env prodction', cwd)
  await asked.until(
    /There is no environment 'prodction'\. Did you mean 'Production'\?\s[\s\S]*Deploy to 'Production'\? \[Y\/n\] /,
  )
  asked.child.stdin.write('\r')
  assert.equal((await asked.ended).code, 0)
  assert.equal((await environmentsOf('orthography')).length, 1)

  await rm(join(cwd, '.headland.json'))
  const flags = ['--app', 'orthography', '--env', 'prodction', '--cms', 'wordpress', '--create', '--detach']
  const meant = await headland(['deploy', ...flags], { cwd })
  assert.equal(meant.code, 0, meant.stderr)
  assert.equal((await environmentsOf('orthography')).length, 2)
})

test('commands and their options get suggestions, too', async () => {
  const cwd = await project(page('x'))
  const runs: [args: string[], says: RegExp][] = [
    [['delpoy'], /there is no command 'delpoy'\. Did you mean 'deploy'\?/],
    [['builds', 'shwo'], /there is no command 'builds shwo'\. Did you mean 'builds show'\?/],
    [['webhooks', 'shw'], /goes on with one of: show, .*\. Did you mean 'show'\?/],
    [['serve', '--data-dri', 'x'], /'headland serve' has no option --data-dri\. Did you mean '--data-dir'\?/],
    [['apps', 'create', 'x', '--region', 'EUW'], /one of US-C, .*\. Did you mean 'EU-W'\?/],
    [['nonsense'], /there is no command 'nonsense'\.\n/],
  ]
  const ended = await Promise.all(runs.map(([args]) => headland(args, { cwd })))
  for (const [index, { code, stderr }] of ended.entries()) {
    assert.equal(code, 2, stderr)
    assert.match(stderr, runs[index]?.[1] ?? /^$/)
  }
})

test('short ids lead to environments, builds and deployments', async () => {
  const cwd = await project(page('short'))
  const [environment] = await environmentsOf('printing')
  assert.ok(environment)
  const at = ['--app', 'printing', '--env', shortId(environment.name)]
  const [build] = (await read(`${environment.name}/builds`)).builds
  const shown = await headland(['builds', 'show', shortId(build.name), ...at, '--json'], { cwd })
  assert.equal(JSON.parse(shown.stdout).name, build.name, shown.stderr)
  const log = await headland(['logs', '--build', shortId(build.name), ...at, '-n', '1'], { cwd })
  assert.match(log.stdout, /SWITCHING Live after/)
  const older = (await read(`${environment.name}/deployments`)).deployments.at(-1)
  const activated = await headland(['deployments', 'activate', shortId(older.name), ...at], { cwd })
  assert.match(activated.stderr, new RegExp(`The deployment ${shortId(older.name)} is live at`))
  assert.equal((await read(environment.name)).deployment, older.name)
  const missing = await headland(['builds', 'show', 'ffffffff', ...at], { cwd })
  assert.deepEqual([missing.code, missing.stdout], [2, ''])
  assert.match(missing.stderr, /there is no build ffffffff: 'headland builds' lists those there are/)
})

test('a followed log begins at the last start, marks changes of state, and continues after a restart', async (t) => {
  const says = `if (request.url === '/die') process.exit(7)`
  const forged = `console.log('Deployment 00000000 is live: build 00000000.')`
  // The check of the second version asks it for what the first one was asked for.
  const files = (version: string): Files =>
    nodeServer(version, `console.log('${version} is asked for ' + request.url); ${says}; ${forged}`)
  const cwd = await project(files('one'))
  const first = await headland(['deploy', '--app', 'followed', ...FIRST], { cwd })
  assert.equal(first.code, 0, first.stderr)
  const url = first.stdout.trim()
  await siteAnswer(service, url, '/of-the-first')
  await project(files('two')).then(async (other) => {
    const second = await headland(['deploy', other, '--app', 'followed', '--env', 'Production'], { cwd: other })
    assert.equal(second.code, 0, second.stderr)
  })

  const following = begin(['logs', '-f', '--json'], { cwd, input: '' })
  await following.until(/"mark":"LIVE"/)
  await siteAnswer(service, url, '/hello')
  await following.until(/two is asked for \/hello/)
  await siteAnswer(service, url, '/die').catch(() => undefined)
  await following.until(/"mark":"ENDED"[\s\S]*"mark":"START"/)
  const activated = await headland(['deployments', 'activate', 'previous'], { cwd })
  assert.equal(activated.code, 0, activated.stderr)
  await following.until(/"mark":"LIVE"[\s\S]*"mark":"LIVE"/)

  // The service is stopped as in an upgrade, and started again at the same address.
  const { dataDir, api, edge } = service
  assert.equal(await service.stop(), 0)
  const settings = { HEADLAND_LISTEN: new URL(api).host, HEADLAND_EDGE_LISTEN: new URL(edge).host }
  service = await startService(t, { dataDir, settings })
  await following.until(/"mark":"LIVE"[\s\S]*"mark":"LIVE"[\s\S]*"isThere":true[\s\S]*"mark":"START"/)
  following.child.kill('SIGINT')
  const { code, stdout } = await following.ended
  assert.equal(code, 0)

  const lines = eventsOf(stdout).filter(({ number }) => number !== undefined)
  // What came before the last start is left out. The first version may print after it: the check compares the two.
  assert.equal(lines[0]?.mark, 'START')
  const marks = lines.flatMap(({ mark, deployment }) => (mark ? [[mark, deployment]] : []))
  const [two, one] = (await read(`${(await environmentsOf('followed'))[0]?.name}/deployments`)).deployments
  assert.deepEqual(marks, [
    ['START', shortId(two.name)],
    ['LIVE', shortId(two.name)],
    ['ENDED', undefined],
    ['START', shortId(two.name)],
    ['START', shortId(one.name)],
    ['LIVE', shortId(one.name)],
    ['START', shortId(one.name)],
  ])
  const numbers = lines.map(({ number }) => Number(number))
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => (numbers[0] ?? 0) + index),
    'every line once, in order',
  )

  // In a pipe a mark begins the line, where a line of the app has its time.
  const text = await headland(['logs'], { cwd })
  assert.match(
    text.stdout,
    new RegExp(`^── \\S+Z {2}Deployment ${shortId(one.name)} is live: build \\w{8}\\. ──$`, 'm'),
  )
  assert.match(text.stdout, /^\S+Z Deployment 00000000 is live: build 00000000\.$/m)
})
