/** A deploy from the command line on a real service: with pipes, as CI runs it, and in a terminal with a user. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { temporaryFolder } from '../../support/folder.ts'
import { type Files, nodeServer, page } from '../../support/service/deploy.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { createCommandLine, eventsOf } from '../../support/service/headland.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import { startService } from '../../support/service/service.ts'

const service = await startService({ after }, { settings: { HEADLAND_ARCHIVE_BYTES: '3000000' } })
const as = await service.login('developer')
const top = await temporaryFolder({ after })
const HOME = join(top, 'home')
await mkdir(HOME)

/** Without settings of this machine: no log-in, no address, no CI. */
const WITHOUT_LOGIN = { PATH: process.env.PATH, HOME, TERM: 'xterm' }
const CREDENTIALS = { HEADLAND_API_USER: as.userId, HEADLAND_API_PASSWORD: as.password }
const WITH_CREDENTIALS = { ...WITHOUT_LOGIN, ...CREDENTIALS, HEADLAND_URL: service.api }

const { begin, headland, inTerminal, project } = createCommandLine(WITH_CREDENTIALS, top)

const FIRST = ['--region', 'EU-W', '--env', 'Production', '--cms', 'wordpress']

test('a first deploy with flags creates the app and the environment, goes live, and prints only the address', async () => {
  const cwd = await project({ ...page('from a laptop'), '.gitignore': 'notes\n', notes: 'private', '.git/HEAD': '' })
  const login = await headland(['login', service.api, '--user', as.userId, '--password-stdin'], {
    cwd,
    env: WITHOUT_LOGIN,
    input: `${as.password}\n`,
  })
  assert.equal(login.code, 0, login.stderr)
  assert.match(login.stderr, /default \(developer\)/)
  const saved = join(HOME, '.config/headland/logins.json')
  assert.equal((await stat(saved)).mode & 0o777, 0o600)

  const { code, stdout, stderr } = await headland(['deploy', '--app', 'laptop', ...FIRST], { cwd, env: WITHOUT_LOGIN })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^http:\/\/\S+\n$/)
  assert.match((await siteAnswer(service, stdout.trim())).text, /from a laptop/)
  assert.equal((await siteAnswer(service, stdout.trim(), '/notes')).status, 404)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matches colours and progress bars
  assert.doesNotMatch(stderr, /[\x1b\r]/)

  const written = JSON.parse(await readFile(join(cwd, '.headland.json'), 'utf8'))
  assert.deepEqual(Object.keys(written), ['url', 'account', 'app', 'environment'])
  assert.doesNotMatch(JSON.stringify(written), new RegExp(as.password))

  await mkdir(join(cwd, 'src'))
  const again = await headland(['deploy', '--json'], { cwd: join(cwd, 'src'), env: WITHOUT_LOGIN })
  assert.equal(again.code, 0, again.stderr)
  const events = eventsOf(again.stdout)
  const names = events.map(({ event }) => event)
  assert.deepEqual([names[0], names.at(-1)], ['archive', 'done'])
  for (const name of ['uploaded', 'phase', 'line']) assert.ok(names.includes(name), `${names} has no ${name}`)
  const done = events.at(-1)
  assert.deepEqual([done?.url, done?.unchanged], [stdout.trim(), true], 'the same files are the same output')
})

test('missing values that cannot be guessed are wrong usage that names the flags, and nothing is created', async () => {
  const cwd = await project(page('never'))
  const usages: [args: string[], says: RegExp][] = [
    [[], /which app\? --app NAME, or --yes for 'project-\d+'; there are /],
    [['--app', 'missing'], /there is no app 'missing' yet; to make it, add --region, one of US-C, /],
    [['--app', 'missing', '--region', 'UK'], /which environment of missing\? --env NAME/],
    [['--app', 'missing', '--region', 'UK', '--env', 'Production'], /to make it, add --cms INSTALL/],
    [['nowhere'], /nowhere is not a folder/],
  ]
  const ended = await Promise.all(usages.map(([args]) => headland(['deploy', ...args], { cwd })))
  for (const [index, { code, stdout, stderr }] of ended.entries()) {
    assert.deepEqual([code, stdout], [2, ''], stderr)
    assert.match(stderr, usages[index]?.[1] ?? /^$/)
  }
  const { status } = await service.call('/v1/accounts/default/apps/missing', { as })
  assert.equal(status, 404)
})

test('an unreachable service has an exit code of its own', async () => {
  const cwd = await project(page('never'))
  const env = { ...WITH_CREDENTIALS, HEADLAND_URL: 'http://127.0.0.1:1' }
  const { code, stderr } = await headland(['deploy', '--app', 'x', ...FIRST], { cwd, env })
  assert.equal(code, 3)
  assert.match(stderr, /was not reached/)
})

test('secrets of a shell are not sent to the address that a project names', async () => {
  const cwd = await project({ ...page('never'), '.headland.json': '{"url": "http://127.0.0.1:1"}' })
  const { code, stderr } = await headland(['deploy'], { cwd, env: { ...WITHOUT_LOGIN, ...CREDENTIALS } })
  assert.equal(code, 2)
  assert.match(stderr, /you are not logged in to http:\/\/127\.0\.0\.1:1/)
})

test('a session sends nothing to the account that a project names before its user has confirmed', async () => {
  const made = await service.operator('users', 'create', 'bob@example.com', '--account', 'default', '--json')
  const env = { ...WITHOUT_LOGIN, XDG_CONFIG_HOME: join(top, 'bob') }
  const cwd = await project({
    ...page('never'),
    '.headland.json': JSON.stringify({
      url: service.api,
      account: 'default',
      app: 'laptop',
      environment: 'Production',
    }),
  })
  const input = `${JSON.parse(made).password}\n`
  const login = await headland(['login', service.api, '--user', 'bob@example.com', '--password-stdin'], {
    cwd,
    env,
    input,
  })
  assert.equal(login.code, 0, login.stderr)
  const commands = [
    ['deploy', '--yes'],
    ['deploy', '--dry-run'],
    ['variables', 'set', 'TOKEN=secret'],
  ]
  for (const args of commands) {
    const { code, stderr } = await headland(args, { cwd, env })
    assert.equal(code, 2, stderr)
    assert.match(
      stderr,
      /names the account default of \S+, to which you have sent nothing so far.*add --account default/,
    )
  }
  assert.equal((await headland(['builds'], { cwd, env })).code, 0, 'reading sends nothing')
  const named = await headland(['deploy', '--dry-run', '--account', 'default'], { cwd, env })
  assert.equal(named.code, 0, named.stderr)
  const again = await headland(['deploy', '--dry-run'], { cwd, env })
  assert.equal(again.code, 0, again.stderr)
})

test('local settings are not uploaded, and the command says so, unless they are included by name', async () => {
  const cwd = await project({ ...page('a site'), '.env.local': 'SECRET=1', '.headlandignore': '!.env.local\n' })
  const asked = ['deploy', '--list-files']
  const kept = await headland(asked, { cwd, env: WITHOUT_LOGIN })
  assert.deepEqual([kept.code, kept.stdout], [0, '.headlandignore\nindex.html\n'])
  assert.match(kept.stderr, /Not sent: \.env\.local\. .*--include-env-file \.env\.local/)
  const wanted = await headland([...asked, '--include-env-file', '.env.local'], { cwd, env: WITHOUT_LOGIN })
  assert.deepEqual([wanted.code, wanted.stdout], [0, '.env.local\n.headlandignore\nindex.html\n'])
  assert.match(wanted.stderr, /Sent with the source: \.env\.local/)
  for (const wrong of ['.env.missing', '../.env', 'index.html']) {
    const { code, stderr } = await headland([...asked, '--include-env-file', wrong], { cwd, env: WITHOUT_LOGIN })
    assert.equal(code, 2, stderr)
  }
})

test('--list-files and --dry-run build nothing', async () => {
  const cwd = await project({ ...page('never'), 'drafts/a.md': '', '.headlandignore': 'drafts\n' })
  const listed = await headland(['deploy', '--list-files'], { cwd, env: WITHOUT_LOGIN })
  assert.deepEqual([listed.code, listed.stdout], [0, '.headlandignore\nindex.html\n'])
  const dry = await headland(['deploy', '--dry-run', '--app', 'laptop', '--env', 'Production'], { cwd })
  assert.equal(dry.code, 0, dry.stderr)
  assert.equal(JSON.parse(dry.stdout).framework, 'static')
  const none = await headland(['deploy', '--dry-run', '--app', 'laptop', '--env', 'Other', '--cms', 'x'], { cwd })
  assert.equal(none.code, 2, none.stderr)
})

test('an archive that the service refuses is reported with its largest files', async () => {
  const cwd = await project({ ...page('never'), 'video.mp4': randomBytes(8 * 1024 ** 2) })
  const { code, stderr } = await headland(['deploy', '--app', 'laptop', '--env', 'Production'], { cwd })
  assert.equal(code, 1, stderr)
  assert.match(stderr, /8\.0 MB {2}video\.mp4/)
  assert.match(stderr, /\(ARCHIVE_TOO_LARGE\)/)
})

const BROKEN: Files = {
  'package.json': JSON.stringify({ name: 'broken', scripts: { build: 'node build.js' } }),
  'build.js': `console.log('before'); console.error('Error: the build is broken'); process.exit(1)`,
}

test('a build that fails ends with 1, its reason, the line that shows it, and what to do', async () => {
  const cwd = await project(BROKEN)
  const { code, stdout, stderr } = await headland(['deploy', '--yes'], { cwd })
  assert.deepEqual([code, stdout], [1, ''], stderr)
  assert.match(stderr, /\nFailed: BUILD_SCRIPT_FAILED\n/)
  assert.match(stderr, /\n {2}\d+ {2}before\n> \d+ {2}Error: the build is broken\n/)
  assert.match(stderr, /More: http:\/\/\S+\/docs\/troubleshooting\/build-script-failed$/m)
  assert.match(stderr, /Nothing is live yet\./)

  const again = await headland(['rebuild', '--clean', '--json'], { cwd })
  assert.equal(again.code, 1, again.stderr)
  const failed = eventsOf(again.stdout).at(-1)
  assert.deepEqual([failed?.event, failed?.reason, failed?.fault], ['failed', 'BUILD_SCRIPT_FAILED', 'app'])

  const followed = await headland(['logs', '--build', 'latest', '-f'], { cwd })
  assert.equal(followed.code, 1)
  assert.match(followed.stdout, /^\S+Z BUILDING Error: the build is broken$/m)
  const last = await headland(['logs', '--build', 'latest', '-n', '1', '--json'], { cwd })
  assert.equal(eventsOf(last.stdout).length, 1)
})

test('the log of a running app is printed, and continues with --follow', async () => {
  const cwd = await project(nodeServer('it runs', `console.log('asked for ' + request.url)`))
  const { code, stdout, stderr } = await headland(['deploy', '--app', 'server', ...FIRST], { cwd })
  assert.equal(code, 0, stderr)
  await siteAnswer(service, stdout.trim(), '/first')
  const following = begin(['logs', '-f'], { cwd, input: '' })
  await following.until(/asked for \/first/)
  await siteAnswer(service, stdout.trim(), '/second')
  await following.until(/asked for \/second/)
  following.child.kill('SIGINT')
  assert.equal((await following.ended).code, 0)
})

test('a user logs in by e-mail, and a log-out ends the session on the service too', async () => {
  const cwd = await project(page('never'))
  const made = await service.operator(
    'users',
    'create',
    'ann@example.com',
    '--account',
    'default',
    '--role',
    'viewer',
    '--json',
  )
  const { password } = JSON.parse(made)
  const env = { ...WITHOUT_LOGIN, XDG_CONFIG_HOME: join(top, 'ann') }
  const logIn = (input: string) =>
    headland(['login', service.api, '--user', 'ann@example.com', '--password-stdin'], { cwd, env, input })

  const wrong = await logIn('not the password\n')
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /LOG_IN_FAILED/)
  await assert.rejects(stat(join(top, 'ann')), { code: 'ENOENT' })

  const right = await logIn(`${password}\n`)
  assert.equal(right.code, 0, right.stderr)
  assert.match(right.stderr, /default \(viewer\).*\nIt holds until 20/)
  const { logins } = JSON.parse(await readFile(join(top, 'ann/headland/logins.json'), 'utf8'))
  const { cookie } = logins[service.api]
  const session = () => service.call('/v1/session', { headers: { cookie } })
  assert.equal((await session()).json.email, 'ann@example.com')

  const refused = await headland(['deploy', '--app', 'laptop', '--env', 'Production'], { cwd, env })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /ROLE_TOO_WEAK/)
  assert.equal((await headland(['logout'], { cwd, env })).code, 0)
  assert.equal((await session()).status, 401)
  assert.equal((await headland(['logout'], { cwd, env })).code, 2)
})

test('a command that is ended by a signal leaves the build running, or cancels it', async () => {
  const mark = 'left-alone'
  const cwd = await project(heldBuild(mark, 'held'))
  const first = begin(['deploy', '--app', 'held', ...FIRST], { cwd, input: '' })
  const held = await untilHeld(mark)
  await first.until(/node build\.js/)
  first.child.kill('SIGTERM')
  const left = await first.ended
  assert.equal(left.code, 1)
  const build = /headland logs --build (\S+) -f/.exec(left.stderr)?.[1] ?? ''
  await held.goOn()
  const followed = await headland(['logs', '--build', build, '-f'], { cwd })
  assert.equal(followed.code, 0, followed.stderr)
  assert.match(followed.stdout, /SWITCHING Live after/)

  const second = begin(['rebuild', '--cancel-on-interrupt', '--json'], { cwd, input: '' })
  await untilHeld(mark)
  second.child.kill('SIGINT')
  assert.equal((await second.ended).code, 1)
  const state = await headland(['logs', '--build', 'latest', '-f', '--json'], { cwd })
  assert.deepEqual([state.code, /cancelled/.test(state.stdout)], [1, true])
})

test('in a terminal, Ctrl-C asks whether to cancel the build, and a yes cancels it', async () => {
  const mark = 'cancelled-by-hand'
  const cwd = await project(heldBuild(mark, 'held'))
  const deploying = inTerminal('deploy --app by-hand', cwd)
  await deploying.until(/In which region is by-hand hosted\?[\s\S]*Number \[\d\]: /)
  deploying.child.stdin.write('2\r')
  await deploying.until(/Name of the new environment \[Production\]: /)
  deploying.child.stdin.write('\r')
  await deploying.until(/CMS install that it shows \[by-hand\]: /)
  deploying.child.stdin.write('\r')
  await deploying.until(/app {10}by-hand, in AUS-SE[\s\S]*Go on\? \[Y\/n\] /)
  deploying.child.stdin.write('\r')
  await untilHeld(mark)
  await deploying.until(/node build\.js/)
  deploying.child.stdin.write('\x03')
  await deploying.until(/Cancel the build\? \[y\/N\] /)
  deploying.child.stdin.write('y\r')
  const { code, stdout } = await deploying.ended
  assert.equal(code, 1, stdout)
  assert.match(stdout, /OPERATION_CANCELLED/)
})

test('a service that is killed and started again meanwhile is waited for, and the deploy ends well', async (t) => {
  const mark = 'outlives-the-service'
  const cwd = await project(heldBuild(mark, 'it was worth the wait'))
  const deploying = begin(['deploy', '--app', 'patient', '--json', ...FIRST], { cwd, input: '' })
  await untilHeld(mark)
  await deploying.until(/node build\.js/)
  await service.kill()
  await deploying.until(/"connection","isThere":false/)
  const { host } = new URL(service.api)
  const edge = new URL(service.edge).host
  const again = await startService(t, {
    dataDir: service.dataDir,
    settings: { HEADLAND_LISTEN: host, HEADLAND_EDGE_LISTEN: edge },
  })
  await (await untilHeld(mark)).goOn()
  const { code, stdout, stderr } = await deploying.ended
  assert.equal(code, 0, stderr + stdout)
  const events = eventsOf(stdout)
  const numbers = events.filter(({ event }) => event === 'line').map(({ number }) => number)
  assert.deepEqual(
    numbers,
    Array.from(numbers, (_, index) => index + 1),
    'every line once, in order',
  )
  assert.match((await siteAnswer(again, String(events.at(-1)?.url))).text, /it was worth the wait/)
})
