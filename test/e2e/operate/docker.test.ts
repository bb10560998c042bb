/**
 * The Dockerfile and compose.yaml as they are, on a real engine, by the commands of docs/operate/docker.md: built,
 * started, used, backed up, stopped. The base image is made here, from Debian's packages and this checkout's Node.
 */
import assert from 'node:assert/strict'
import { type ExecFileException, execFile } from 'node:child_process'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse as parseYaml } from 'yaml'
import type { Finding } from '../../../src/operator/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { blocksOf, readPage } from '../../support/guides.ts'
import { isLong } from '../../support/long.ts'
import { type DockerEngine, startDocker } from '../../support/machine/docker-engine.ts'
import { BASE_IMAGE, isDockerThere } from '../../support/machine/docker-packages.ts'

const TOP = fileURLToPath(new URL('../../..', import.meta.url))
/** The image is built in 75 seconds on two idle processors. */
const MAX_MS = 1_500_000
const PAGE = 'docs/operate/docker.md'
const API = 'http://localhost:8080'
const skip =
  isLong && process.getuid?.() === 0 && isDockerThere() ? false : 'root on Debian does it, with npm run test:long'

/** The commands of the page, in its order. */
const commands = blocksOf(await readPage(PAGE))
  .filter(({ language }) => language === 'console')
  .flatMap(({ text }) => [...text.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command))

// Skipped tests use none of it.
const engine = skip ? ({} as DockerEngine) : await startDocker({ after })
/** The working folder: a checkout, without files that only its own machine needs. */
const folder = skip ? '' : await copyOfCheckout()

let credential: { userId: string; password: string }
/** The address of each site. */
const sites = new Map<string, string>()
const typed: string[] = []

test('the image is built and the service is healthy, by the first command of the page', {
  skip,
  timeout: MAX_MS,
}, async () => {
  await type('docker compose up --detach --build --wait')
  const [container] = await containers()
  assert.match(container?.Status ?? '', /\(healthy\)/)
  assert.match(await type('docker compose logs headland'), /Password {3}\S{20}/)
  const bytes = Number(await engine.docker('image', 'inspect', 'headland', '--format', '{{.Size}}'))
  const base = Number(await engine.docker('image', 'inspect', BASE_IMAGE, '--format', '{{.Size}}'))
  assert.ok(bytes - base < 60e6, `${(bytes - base) / 1e6} MB are added to the base image`)
})

test('with the settings of compose.yaml, every check of the doctor passes', { skip }, async () => {
  const findings = await type('docker compose exec headland headland doctor')
  assert.match(findings, /^sandbox +ok +bubblewrap, a user for each environment$/m)
  for (const part of ['user', 'data folder', 'layers', 'limits', 'system calls', 'network']) {
    assert.match(findings, new RegExp(`^${part} +ok `, 'm'))
  }
  assert.doesNotMatch(await type('docker compose logs headland'), /does not keep programs apart/)
})

test('if a line is missing that sandbox, layers, network or limits need, the doctor names it', {
  skip,
}, async () => {
  const { services } = parseYaml(await readFile(join(folder, 'compose.yaml'), 'utf8'))
  const { cap_add: capabilities, security_opt: options } = services.headland as Record<string, string[]>
  assert.ok(capabilities && options)
  const parts = {
    SYS_ADMIN: 'sandbox',
    SETUID: 'sandbox',
    SETGID: 'sandbox',
    'seccomp=unconfined': 'sandbox',
    DAC_OVERRIDE: 'layers',
    NET_ADMIN: 'network',
    'systempaths=unconfined': 'network',
    'writable-cgroups=true': 'limits',
  }
  for (const [line, part] of Object.entries(parts)) {
    assert.ok([...capabilities, ...options].includes(line), `${line} is in compose.yaml`)
    const left = [
      ...capabilities.filter((each) => each !== line).flatMap((each) => ['--cap-add', each]),
      ...options.filter((each) => each !== line).flatMap((each) => ['--security-opt', each]),
    ]
    const run = ['run', '--rm', '--init', '--cgroupns=private', '--cap-drop=ALL', ...left, 'headland']
    const findings: Finding[] = JSON.parse(await engine.docker(...run, 'headland', 'doctor', '--json'))
    const found = findings.find((each) => each.part === part)
    assert.equal(found?.state, 'weaker', `without ${line}: ${JSON.stringify(findings)}`)
    assert.ok(found.advice.includes(line), found.advice)
  }
})

test('an example is deployed from the machine, and visitors get it at the published port', { skip }, async () => {
  credential = JSON.parse(
    await inContainer('headland', 'credentials', 'create', '--account', 'default', '--role', 'owner', '--json'),
  )
  assert.equal(await deploy('hello', join(TOP, 'examples/node-server')), 'Hello from Node\n')
  assert.match(await deploy('page', join(TOP, 'examples/vite')), /<title>Vite example<\/title>/)
})

/** Answers with what it reaches: a file of the service, and a server in another container. */
const PRYING = `
  import { readFileSync } from 'node:fs'
  import { createServer } from 'node:http'
  const tell = (call) => Promise.resolve().then(call).then(() => 'reached', (error) => error.cause?.code ?? error.code ?? error.name)
  createServer(async (request, response) => {
    const address = new URL(request.url, 'http://localhost').searchParams.get('address')
    response.end(JSON.stringify({
      uid: process.getuid(),
      key: await tell(() => readFileSync('/data/master.key')),
      neighbour: await tell(() => fetch(address, { signal: AbortSignal.timeout(5000) })),
    }))
  }).listen(process.env.PORT)
`

test('an app in the container reaches neither the files of the service nor other containers', { skip }, async (t) => {
  const server = "require('node:http').createServer((_, response) => response.end('neighbour')).listen(9000)"
  const [{ Networks: network = '' } = {}] = await containers()
  const neighbour = await engine.docker(
    'run',
    '--rm',
    '--detach',
    '--init',
    '--network',
    network,
    BASE_IMAGE,
    'node',
    '-e',
    server,
  )
  t.after(() => engine.docker('rm', '--force', neighbour))
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'
  const address = `http://${await engine.docker('inspect', neighbour, '--format', format)}:9000/`
  const ask = `fetch('${address}').then((reply) => reply.text()).then(console.log)`
  assert.equal(await inContainer('node', '-e', ask), 'neighbour', 'the service itself reaches it')

  const project = await temporaryFolder(t)
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ type: 'module', scripts: { start: 'node server.js' } }),
  )
  await writeFile(join(project, 'server.js'), PRYING)
  await deploy('prying', project)
  const { uid, key, neighbour: reached } = JSON.parse(await visit('prying', `/?address=${address}`))
  assert.ok(uid >= 100_000, `it runs as ${uid}`)
  assert.equal(key, 'ENOENT')
  assert.match(reached, /REFUSED|UNREACH|ACCES|Timeout/i)
})

test('no dead process is left behind', { skip }, async () => {
  const states = await inContainer('sh', '-c', 'cat /proc/[0-9]*/status | grep ^State')
  assert.doesNotMatch(states, /zombie/)
})

test('a restart brings the sites back', { skip }, async () => {
  await type('docker compose restart')
  await type('docker compose up --detach --wait')
  assert.equal(await visit('hello'), 'Hello from Node\n')
})

test('behind a proxy on the machine, the service knows who called it', { skip }, async () => {
  const [, gateway = ''] = /^default via (\S+)/.exec(await type('docker compose exec headland /bin/ip route')) ?? []
  const [block] = blocksOf(await readPage(PAGE)).filter(({ language }) => language === 'ini')
  const settings = block?.text.replace(/^(HEADLAND_TRUSTED_PROXIES)=.*$/m, `$1=${gateway}`)
  assert.match(settings ?? '', /^HEADLAND_TRUSTED_PROXIES=\d/m)
  await writeFile(join(folder, 'headland.env'), settings ?? '')
  await compose('up', '--detach', '--wait')
  const caller = ['--header', "'x-forwarded-for: 203.0.113.7'", '--header', "'x-forwarded-proto: https'"]
  await shell(`curl --silent ${caller.join(' ')} ${API}/v1/accounts/default/apps`)
  assert.match(await type('docker compose logs headland'), /"address":"203\.0\.113\.7"/)
  await rm(join(folder, 'headland.env'))
})

test('killed and in a new container, with the same volume, it serves the same sites', { skip }, async () => {
  const [{ ID: first = '' } = {}] = await containers()
  await engine.docker('kill', '--signal', 'KILL', first)
  await compose('up', '--detach', '--wait', '--force-recreate')
  assert.notEqual((await containers())[0]?.ID, first)
  assert.equal(await visit('hello'), 'Hello from Node\n')
})

test('a backup taken through the engine is restored into a new volume', { skip }, async () => {
  await type('docker compose exec -T headland headland backup - > headland.tar')
  await type('docker compose cp headland:/data/master.key headland.key')
  await type('docker compose down --volumes')
  assert.equal(await engine.docker('volume', 'ls', '--quiet', '--filter', 'name=data'), '')
  await type(
    'docker compose run --rm -T --volume ./headland.key:/key:ro headland headland restore - --key-file /key < headland.tar',
  )
  await compose('up', '--detach', '--wait')
  assert.equal(await visit('hello'), 'Hello from Node\n')
})

test('docker compose stop ends the apps and the service gracefully', { skip }, async () => {
  const [{ ID: container = '' } = {}] = await containers()
  await type('docker compose stop')
  assert.equal(
    await engine.docker('inspect', container, '--format', '{{.State.Status}} {{.State.ExitCode}}'),
    'exited 0',
  )
  assert.match(await type('docker compose logs headland'), /"msg":"stopped"/)
  await type('docker compose down')
  assert.deepEqual(await containers(), [])
})

test('every command of the page was run', { skip }, () => {
  assert.deepEqual([...new Set(commands)].sort(), [...new Set(typed)].sort())
})

async function copyOfCheckout(): Promise<string> {
  const copy = join(await temporaryFolder({ after }), 'headland')
  const isLeftOut = (path: string) => /(^|\/)(node_modules|dist|\.git)(\/|$)/.test(relative(TOP, path))
  await cp(TOP, copy, { recursive: true, filter: (path) => !isLeftOut(path) })
  return copy
}

/** Runs a command of the page in a shell, unchanged. */
async function type(command: string): Promise<string> {
  assert.ok(commands.includes(command), `${command} is not in ${PAGE}`)
  typed.push(command)
  return shell(command)
}

async function shell(command: string): Promise<string> {
  const [file = '', ...args] = [...engine.inside, 'bash', '-euc', command]
  const options = { cwd: folder, env: engine.environment, timeout: MAX_MS, maxBuffer: 2 ** 26 }
  const output = await promisify(execFile)(file, args, options).catch(({ stdout, stderr, message }: Failure) => {
    throw new Error(`${message}\n${stdout}\n${stderr}`)
  })
  return output.stdout
}

type Failure = ExecFileException & { stdout: string; stderr: string }

const compose = (...args: string[]): Promise<string> => shell(`docker compose ${args.join(' ')}`)

const inContainer = async (...words: string[]): Promise<string> => {
  const [{ ID: container = '' } = {}] = await containers()
  return engine.docker('exec', container, ...words)
}

type Container = { ID: string; Status: string; Networks: string }

async function containers(): Promise<Container[]> {
  const lines = (await compose('ps', '--all', '--format', 'json')).split('\n')
  return lines.filter(Boolean).map((line) => JSON.parse(line))
}

/** The page of the new site. */
async function deploy(app: string, project: string): Promise<string> {
  const copy = join(await temporaryFolder({ after }), app)
  await cp(project, copy, { recursive: true, filter: (path) => !/node_modules/.test(path.slice(project.length)) })
  const options = ['--app', app, '--region', 'EU-W', '--env', 'Production', '--cms', 'my-cms']
  const [file = '', ...words] = [...engine.inside, process.execPath, join(TOP, 'bin/headland'), 'deploy', ...options]
  const { stdout } = await promisify(execFile)(file, words, {
    cwd: copy,
    env: {
      PATH: process.env.PATH,
      HOME: copy,
      HEADLAND_URL: API,
      HEADLAND_API_USER: credential.userId,
      HEADLAND_API_PASSWORD: credential.password,
    },
    timeout: MAX_MS,
  })
  sites.set(app, stdout.trim().split('\n').at(-1) ?? '')
  return visit(app)
}

async function visit(app: string, path = '/'): Promise<string> {
  const [file = '', ...words] = [...engine.inside, 'curl', '--silent', '--show-error', '--fail-with-body']
  return (await promisify(execFile)(file, [...words, `${sites.get(app)}${path}`])).stdout
}
