/** The commands of the client on a real service, as a script runs them: with pipes, without colours and prompts. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { CLIENT_COMMANDS, createTerminal } from '../../../src/cli/index.ts'
import { clientEnvironment } from '../../../src/config.ts'
import { type OptionValues, type resources, shortId } from '../../../src/contract/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, nodeServer, page, upload } from '../../support/service/deploy.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { TIMEOUT_MS } from '../../support/until.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

const service = await startService({ after })
const as = await service.login('developer')
const folder = await temporaryFolder({ after })
const elsewhere = join(folder, 'elsewhere')
await mkdir(elsewhere)

const environment = {
  PATH: process.env.PATH,
  XDG_CONFIG_HOME: join(folder, 'config'),
  HEADLAND_URL: service.api,
  HEADLAND_API_USER: as.userId,
  HEADLAND_API_PASSWORD: as.password,
}

type Ran = { code: number; stdout: string; stderr: string }
type Setting = { input?: string; env?: Record<string, string>; cwd?: string }

async function run(args: readonly string[], { input = '', env = {}, cwd = folder }: Setting = {}): Promise<Ran> {
  const child = spawn(process.execPath, [HEADLAND, ...args], {
    cwd,
    env: { ...environment, ...env },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matches colours and progress bars
  assert.doesNotMatch(stdout + stderr, /[\x1b\r]/, 'nothing for a terminal in a pipe')
  return { code, stdout, stderr }
}

/** As the command line runs it, without the 0.3 s that a process takes. Failing commands are run as a process. */
async function succeeds(...args: string[]): Promise<Ran> {
  const fitting = CLIENT_COMMANDS.filter(({ name }) => `${args.join(' ')} `.startsWith(`${name} `))
  const command = fitting.toSorted((a, b) => b.name.length - a.name.length)[0]
  assert.ok(command, `there is no command ${args.join(' ')}`)
  const { options, name } = command
  const parsed = parseArgs({ args: args.slice(name.split(' ').length), allowPositionals: true, options })
  const [output, words] = [new PassThrough(), new PassThrough()]
  const streams = { input: new PassThrough(), output, words } as unknown as Parameters<typeof createTerminal>[0]
  const terminal = createTerminal(streams, { isPlain: false })
  const code = await command.run({
    positionals: parsed.positionals,
    options: parsed.values as OptionValues,
    folder,
    environment: clientEnvironment(environment),
    terminal,
  })
  const [stdout, stderr] = await Promise.all([output, words].map((stream) => text(stream.end())))
  const ran = { code: code ?? 0, stdout: stdout ?? '', stderr: stderr ?? '' }
  assert.equal(ran.code, 0, `${args.join(' ')}: ${ran.stdout}${ran.stderr}`)
  return ran
}

// biome-ignore lint/suspicious/noExplicitAny: tests read it freely
const json = async (...args: string[]): Promise<any> => JSON.parse((await succeeds(...args, '--json')).stdout)

async function fails(code: number, expected: RegExp, args: readonly string[], setting?: Setting) {
  const ran = await run(args, setting)
  assert.equal(ran.code, code, `${args.join(' ')}: ${ran.stdout}${ran.stderr}`)
  assert.match(ran.stderr, expected)
  assert.equal(ran.stdout, '', 'no data after an error')
}

const idOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** The data of the API, to compare with the output of a command: much cheaper than a further process. */
const read = async (path: string) => (await service.call(`/v1/${path}`, { as })).json

test('an app is created, listed and deleted; an empty list says what to do next', async () => {
  const nothing = await succeeds('apps')
  assert.equal(nothing.stdout, '')
  assert.match(nothing.stderr, /^No apps yet\. 'headland apps create/)
  assert.match((await succeeds('apps', 'create', 'brief', '--region', 'EU-W')).stderr, /^Made the app brief\./)
  const listed = await run(['apps'])
  assert.match(
    listed.stdout,
    /^APP +REGION +ENVIRONMENTS +LIVE +CREATED\nbrief +EU-W +0 +0 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\n$/,
  )
  await fails(1, /APP_EXISTS/, ['apps', 'create', 'brief', '--region', 'EU-W'])
  await fails(2, /for good\. Say --yes/, ['apps', 'delete', 'brief'])
  assert.deepEqual(await json('apps', 'delete', 'brief', '--yes'), {})
  assert.deepEqual((await read('accounts/default/apps')).apps, [])
})

test('wrong usage ends with 2, and does nothing', async () => {
  await fails(2, /usage: headland apps/, ['apps', 'nonsense'])
  await fails(2, /is not a name for an app/, ['apps', 'delete', '../../credentials', '--yes'])
})

test('a service that is not there ends with 3; a role that is too weak ends with 1', async () => {
  await fails(3, /was not reached/, ['apps'], { env: { HEADLAND_URL: 'http://127.0.0.1:1' } })
  const viewer = await service.login('viewer')
  const env = { HEADLAND_API_USER: viewer.userId, HEADLAND_API_PASSWORD: viewer.password }
  await fails(1, /ROLE_TOO_WEAK/, ['apps', 'create', 'x', '--region', 'UK'], { env })
})

let name = ''
let url = ''

test('an environment is created, and only its address is printed as data', async () => {
  await succeeds('apps', 'create', 'shop', '--region', 'UK')
  const made = await succeeds('envs', 'create', 'Production', '--cms', 'cms', '--variable', 'GREETING=hello')
  assert.match(made.stdout, /^http:\/\/\S+\n$/)
  assert.match(made.stderr, /^Made the environment Production \(/)
  const [found] = (await read('accounts/default/apps/shop/environments')).environments
  name = found.name
  url = made.stdout.trim()
  assert.equal(url, found.url)
  const project = { account: 'default', app: 'shop', environment: 'Production' }
  await writeFile(join(folder, '.headland.json'), JSON.stringify(project))
  const shown = await succeeds('envs', 'show')
  assert.match(shown.stdout, new RegExp(`^environment +Production\nid +${idOf(name)}\n`))
  assert.match(shown.stdout, /^variables +GREETING$/m)
})

test('the number of instances is given with a new environment, changed and shown', async () => {
  await succeeds('envs', 'create', 'Busy', '--cms', 'cms', '--max-instances', '4')
  assert.match((await succeeds('envs', 'show', 'Busy')).stdout, /^instances +0 to 4, another one above 10 requests/m)
  const numbers = ['--min-instances', '2', '--requests-per-instance', '25']
  const { minInstances, maxInstances, requestsPerInstance } = await json('envs', 'change', 'Busy', ...numbers)
  assert.deepEqual([minInstances, maxInstances, requestsPerInstance], [2, 4, 25])
  await succeeds('envs', 'change', 'Busy', '--max-instances', '2')
  assert.match((await succeeds('envs', 'show', 'Busy')).stdout, /^instances +always 2$/m)
  await fails(1, /minInstances: must not be above maxInstances, which is 1/, [
    'envs',
    'change',
    'Busy',
    '--max-instances',
    '1',
  ])
  await fails(2, /--min-instances must be a whole number, 0 or more/, [
    'envs',
    'change',
    'Busy',
    '--min-instances',
    'x',
  ])
  await succeeds('envs', 'delete', 'Busy', '--yes')
})

test('an environment is changed and deleted, by its name', async () => {
  await succeeds('envs', 'create', 'Staging', '--cms', 'cms')
  const changed = await json('envs', 'change', 'Staging', '--name', 'Preview', '--root', 'web')
  assert.deepEqual([changed.displayName, changed.rootDirectory], ['Preview', 'web'])
  const listed = await succeeds('envs')
  assert.match(
    listed.stdout,
    /^ENVIRONMENT +ID +STATE +LATEST BUILD +URL +CHANGED\nPreview +[0-9a-f-]{36} +EMPTY +http/,
  )
  await fails(2, /there is no environment 'Staging'/, ['envs', 'delete', 'Staging', '--yes'])
  assert.deepEqual(await json('envs', 'delete', 'Preview', '--yes'), {})
  assert.equal((await read('accounts/default/apps/shop/environments')).environments.length, 1)
})

test('the environments of all apps are listed if no app is named, or with --all', async () => {
  await succeeds('apps', 'create', 'Blog', '--region', 'UK')
  await succeeds('envs', 'create', 'Preview', '--cms', 'cms', '--app', 'Blog')
  const listed = /^APP +ENVIRONMENT +ID +STATE +LATEST BUILD +URL +CHANGED\nBlog +Preview .*\nshop +Production .*\n$/
  const anywhere = await run(['envs'], { cwd: elsewhere })
  for (const { stdout } of [await succeeds('envs', '--all'), await run(['envs', '-A']), anywhere]) {
    assert.match(stdout, listed)
  }
  assert.match((await succeeds('envs')).stdout, /^ENVIRONMENT .*\nProduction .*\n$/, 'the project names an app')
  const names = (await json('envs', '--all')).map((one: resources.Environment) => one.name.split('/')[3])
  assert.deepEqual(names, ['Blog', 'shop'])
  assert.match((await succeeds('apps')).stdout, /^APP +REGION +ENVIRONMENTS +LIVE +CREATED\nBlog +UK +1 +0 /)
  await fails(2, /--all is of all apps, and --app of one/, ['envs', '--all', '--app', 'shop'])
  await succeeds('apps', 'delete', 'Blog', '--force', '--yes')
})

test('builds are listed, and a failed one is shown with what to do about it', async () => {
  assert.match((await succeeds('builds')).stderr, /^No builds yet\. 'headland deploy' makes the first\./)
  for (const version of ['one', 'two', 'three']) await deploy(service, as, name, page(version))
  await deploy(service, as, name, { 'package.json': JSON.stringify({ scripts: { build: 'exit 3' } }) })
  const { stdout } = await succeeds('builds')
  const [heading = '', failed = '', ...others] = stdout.trimEnd().split('\n')
  assert.match(heading, /^BUILD +STATE +TRIGGER +BY +ASKED +SECONDS +REASON +ARCHIVE +COMMIT +AUTHOR +MESSAGE$/)
  assert.match(
    failed,
    /^[0-9a-f-]{36} +FAILED +UPLOAD +credential \S.* +\S+Z +\d+ +BUILD_SCRIPT_FAILED +sha256:\w{64}$/,
  )
  assert.equal(others.length, 3)
  const some = await succeeds('builds', '--limit', '2')
  assert.equal(some.stdout.trimEnd().split('\n').length, 3)
  assert.match(some.stderr, /There are more/)
  const shown = await succeeds('builds', 'show')
  assert.match(shown.stdout, /^state +FAILED$/m)
  assert.match(shown.stdout, /^reason +BUILD_SCRIPT_FAILED$/m)
  assert.match(shown.stdout, /^cause +The cause is in the app\.$/m)
  assert.match(shown.stdout, /^do +\S/m)
  const newest = await read((await read(`${name}/builds`)).builds[0].name)
  assert.deepEqual(await json('builds', 'show', idOf(newest.name)), newest)
  await fails(1, /was over before: FAILED/, ['builds', 'cancel', newest.name])
})

test('a build that runs is cancelled, and is over when the command ends', async () => {
  const slow = { 'package.json': JSON.stringify({ scripts: { build: 'sleep 60' } }) }
  const { json: asked } = await upload(service, as, name, slow)
  const { stderr } = await succeeds('builds', 'cancel', idOf(asked.metadata.build))
  assert.match(stderr, /^Cancelled the build/)
  assert.equal((await read(asked.metadata.build)).state, 'CANCELLED')
})

test("'activate previous' makes the deployment before the live one live, and called again the one before that", async () => {
  const listed = await succeeds('deployments')
  const [heading = '', live = ''] = listed.stdout.split('\n')
  assert.match(heading, /^DEPLOYMENT +STATE +TRIGGER +BY +LIVE +ACTIVATABLE +BUILD +ARCHIVE +COMMIT +AUTHOR +MESSAGE$/)
  assert.match(live, /^\S{36} +LIVE +UPLOAD +credential \S.* +\S+Z +yes +\S{36} +sha256:\w{64}$/)
  const [three, two] = (await read(`${name}/deployments`)).deployments as resources.Deployment[]
  const back = await succeeds('deployments', 'activate', 'previous')
  assert.equal(back.stdout.trim(), url)
  assert.match(back.stderr, new RegExp(`^The deployment ${shortId(two?.name ?? '')} is live at`))
  assert.match((await siteAnswer(service, url)).text, /two/)
  await succeeds('deployments', 'activate', 'previous')
  assert.match((await siteAnswer(service, url)).text, /one/)
  await fails(2, /no deployment before \S+ can be made live/, ['deployments', 'activate', 'previous'])
  assert.equal((await json('deployments', 'activate', idOf(three?.name ?? ''))).deployment, three?.name)
})

test('a purge says what it purged', async () => {
  assert.match((await succeeds('purge')).stderr, /^Purged everything that was stored of Production\./)
  const some = await succeeds('purge', '/news', '/about', '--tag', 'menu')
  assert.match(some.stderr, /^Purged \/news, \/about, the tag menu of Production\./)
  const [{ purged }] = (await read(`${name}/triggers`)).triggers
  assert.deepEqual(purged, { paths: ['/news', '/about'], tags: ['menu'], count: 3 })
})

test('webhooks are made, called, shown, regenerated and deleted', async () => {
  const { stdout, stderr } = await succeeds('webhooks', 'create')
  assert.match(stderr, /are shown this once/)
  const [, purge = ''] = /^purgeCache: .*\n(http\S+)$/m.exec(stdout) ?? []
  const agent = 'Editor\u009b31m'
  assert.equal((await fetch(purge, { method: 'POST', headers: { 'user-agent': agent } })).status, 200)
  const quiet = await succeeds('webhooks', 'quiet', '10', '--max', '60')
  assert.match(quiet.stderr, /no call came for 10 s, at the latest 60 s after the first/)
  const byFormerName = await succeeds('webhooks', 'quiet', '10', '--most', '70')
  assert.match(byFormerName.stderr, /at the latest 70 s after the first/)
  const shown = await succeeds('webhooks', 'show')
  assert.match(shown.stdout, /^purgeCache +last called 2/m)
  assert.match(shown.stdout, /^cleanRebuild +not called yet$/m)
  assert.match(shown.stdout, /^\S+Z +PURGE_CACHE +WEBHOOK +webhook Editor 31m +200 +\S{36} +127\.0\.0\.1 +Editor/m)
  assert.doesNotMatch(shown.stdout, /\u009b/, 'a caller does not write escape sequences to a terminal')
  const { webhooks } = await json('webhooks', 'regenerate', '--yes')
  assert.equal((await fetch(purge, { method: 'POST' })).status, 401)
  await succeeds('webhooks', 'delete', '--yes')
  assert.equal((await fetch(webhooks[0].url, { method: 'POST' })).status, 401)
})

test('domains are added and removed one by one, in any spelling', async () => {
  await succeeds('domains', 'add', 'www.example.com', 'WWW.example.com.')
  assert.deepEqual(await json('domains', 'add', 'bücher.example'), ['www.example.com', 'xn--bcher-kva.example'])
  assert.equal((await succeeds('domains')).stdout, 'www.example.com\nxn--bcher-kva.example\n')
  await fails(2, /has no domain 'other.example'/, ['domains', 'remove', 'other.example'])
  assert.deepEqual(await json('domains', 'remove', 'Bücher.example'), ['www.example.com'])
})

test('who may see an environment is set and shown; the password comes from stdin alone', async () => {
  assert.deepEqual(await json('protection'), { production: false, protection: { hasPassword: false, addresses: [] } })
  const set = (input: string) => run(['protection', 'password'], { input })
  const { code, stderr } = await set('correct horse\n')
  assert.equal(code, 0, stderr)
  assert.match(stderr, /^Production can be seen by: only with the password; search engines are told not to list it\.$/m)
  assert.match((await succeeds('protection')).stdout, /^password +asked for\naddresses +all$/m)
  const { protection } = await json('protection', 'addresses', '203.0.113.9/24', '::1')
  assert.deepEqual(protection, { hasPassword: true, addresses: ['203.0.113.0/24', '::1'] })
  assert.match(
    (await succeeds('envs', 'show')).stdout,
    /^visibility +only with the password and from 203\.0\.113\.0\/24, ::1; search engines are told not to list it$/m,
  )
  const short = await set('short\n')
  assert.deepEqual([short.code, /must have 8 to 128 characters/.test(short.stderr)], [2, true])
  const none = await set('')
  assert.deepEqual([none.code, /send it at stdin/.test(none.stderr)], [2, true])
  await fails(1, /protection\.addresses\[0\]: must be an IPv4 or IPv6 address/, [
    'protection',
    'addresses',
    'example.com',
  ])
  await fails(2, /usage: headland protection addresses ADDRESS…/, ['protection', 'addresses'])
  await fails(2, /usage: headland protection addresses ADDRESS…/, ['protection', 'addresses', '::1', '--end'])
  await succeeds('protection', 'addresses', '--end')
  assert.deepEqual((await json('protection', 'password', '--end')).protection, { hasPassword: false, addresses: [] })
})

test('a domain of an environment that is not production is pointed out, until it is', async () => {
  const hint = /^Search engines are told not to list Production, .*headland envs change --production yes'\.$/m
  assert.match((await succeeds('domains')).stderr, hint)
  assert.match((await succeeds('domains', 'add', 'www.example.com')).stderr, hint)
  assert.equal((await succeeds('domains', '--json')).stderr, '')
  assert.equal((await json('envs', 'change', '--production', 'yes')).production, true)
  assert.doesNotMatch((await succeeds('domains')).stderr, /Search engines/)
  await fails(2, /--production is one of yes, no/, ['envs', 'change', '--production', 'maybe'])
})

test('a badge is switched on and off, and the environment shows its address while it is on', async () => {
  assert.equal((await json('envs', 'change', '--badge', 'yes')).badge, true)
  const { stdout } = await succeeds('envs', 'show')
  const [address = ''] = /http:\S+\/badge\.svg/.exec(stdout) ?? []
  assert.match(await (await fetch(address)).text(), /^<svg .*aria-label="Production: /)
  assert.equal((await json('envs', 'change', '--badge', 'no')).badge, false)
  assert.doesNotMatch((await succeeds('envs', 'show')).stdout, /badge/)
})

test('a domain redirects to another one, which may change places with it, until that is ended', async () => {
  const lines = async () => (await succeeds('domains')).stdout.trim().split('\n')
  await succeeds('domains', 'redirect', 'Example.com', 'www.example.com')
  assert.deepEqual(await lines(), ['example.com redirects to www.example.com', 'www.example.com'])
  await succeeds('domains', 'redirect', 'www.example.com', 'example.com')
  assert.deepEqual(await lines(), ['example.com', 'www.example.com redirects to example.com'])
  await fails(2, /'example.com' does not redirect; .*: www.example.com/, [
    'domains',
    'redirect',
    'example.com',
    '--end',
  ])
  await fails(2, /usage: headland domains redirect NAME TO/, ['domains', 'redirect', 'www.example.com'])
  await fails(1, /must be another name/, ['domains', 'redirect', 'example.com', 'EXAMPLE.com'])
  await succeeds('domains', 'redirect', 'www.example.com', '--end')
  assert.deepEqual(await lines(), ['example.com', 'www.example.com'])
  await succeeds('domains', 'remove', 'example.com')
})

test('the traffic of a site is printed in a few lines', async () => {
  assert.match((await succeeds('traffic', '--range', '1h')).stderr, /^No visits within 1h\.$|^$/m)
  await fails(2, /--range is one of 1h, 24h, 7d, 30d/, ['traffic', '--range', '2h'])
})

test('variables are set from arguments, a file and stdin, and the others keep their values', async () => {
  assert.equal((await succeeds('variables')).stdout, 'VARIABLE  KIND    VALUE\nGREETING  SECRET  (hidden)\n')
  await writeFile(join(folder, '.env'), '# for the shop\nexport CITY="Z\u00fcrich"\nMANY=\'a\nb\'\n')
  const set = await run(['variables', 'set', 'TOKEN', '--file', '.env', 'EQUAL=a=b'], { input: 'secret\n' })
  assert.equal(set.code, 0, set.stderr)
  assert.match(set.stderr, /^Set CITY, MANY, TOKEN, EQUAL\. The site is files, so it changes with the next build/)
  assert.deepEqual(await json('variables', '--show'), [
    { key: 'GREETING', kind: 'SECRET', value: 'hello' },
    { key: 'CITY', kind: 'SECRET', value: 'Zürich' },
    { key: 'MANY', kind: 'SECRET', value: 'a\nb' },
    { key: 'TOKEN', kind: 'SECRET', value: 'secret' },
    { key: 'EQUAL', kind: 'SECRET', value: 'a=b' },
  ])
  assert.deepEqual(await json('variables', 'unset', 'CITY', 'MANY', 'EQUAL'), [
    { key: 'GREETING', kind: 'SECRET' },
    { key: 'TOKEN', kind: 'SECRET' },
  ])
})

test('variables are secret or plain by their name or by an option, and the values of plain ones are listed', async () => {
  const names = ['VITE_CITY', 'REGION', 'GATSBY_KEY']
  await succeeds('variables', 'set', 'VITE_CITY=Zürich')
  await succeeds('variables', 'set', 'REGION=Alps', '--plain')
  await succeeds('variables', 'set', 'GATSBY_KEY=key', '--secret')
  const listed = (await succeeds('variables')).stdout.split('\n').map((line) => line.split(/ +/))
  assert.deepEqual(
    listed.filter(([name]) => names.includes(name ?? '')),
    [
      ['VITE_CITY', 'PLAIN', 'Zürich'],
      ['REGION', 'PLAIN', 'Alps'],
      ['GATSBY_KEY', 'SECRET', '(hidden)'],
    ],
  )
  await writeFile(join(folder, 'kinds.env'), 'VITE_CITY=Bern\nREGION=Jura\n')
  await succeeds('variables', 'set', 'GATSBY_KEY=other', '--file', 'kinds.env')
  const set = await json('variables', '--show')
  assert.deepEqual(
    set.filter(({ key }: { key: string }) => names.includes(key)),
    [
      { key: 'VITE_CITY', kind: 'PLAIN', value: 'Bern' },
      { key: 'REGION', kind: 'PLAIN', value: 'Jura' },
      { key: 'GATSBY_KEY', kind: 'SECRET', value: 'other' },
    ],
    'a variable that is set again keeps its kind',
  )
  await fails(2, /--secret or --plain, not both/, ['variables', 'set', 'REGION=x', '--secret', '--plain'])
  await succeeds('variables', 'unset', ...names)
})

test('a running app is restarted with the new variables, and the command says so', async () => {
  await deploy(service, as, name, nodeServer('', 'response.write(process.env.GREETING)'))
  assert.equal((await siteAnswer(service, url)).text, 'hello')
  const { stderr } = await succeeds('variables', 'set', 'GREETING=good day')
  assert.match(stderr, /^Set GREETING\. The app runs with it now\. .*needs 'headland rebuild'\./)
  assert.equal((await siteAnswer(service, url)).text, 'good day')
})

test('a trace prints the verdict first, for a path of the environment or for any full URL', async () => {
  const { stdout } = await succeeds('trace', '/')
  const [verdict, empty, address] = stdout.split('\n')
  assert.match(verdict ?? '', /^Nothing is stored for this address/)
  assert.deepEqual([empty, address], ['', `url     ${url}/`])
  assert.match(stdout, /^TIME +WHAT +DETAIL$/m)
  assert.match(stdout, /^\S+Z +NOW +\S/m)
  const custom = 'https://www.example.com/'
  const found = await run(['trace', custom, '--json'], { cwd: elsewhere })
  assert.equal(found.code, 0, found.stderr)
  assert.equal(JSON.parse(found.stdout).url, custom)
  await fails(2, /no environment that you can see answers at other\.example/, ['trace', 'https://other.example/'])
})
