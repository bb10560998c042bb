/**
 * Malicious builds and apps, in real sandboxes: each is contained, reported with its reason, and leaves nothing behind.
 * All the while an app of another account is visited and must not be affected. On a machine without sandboxes these
 * tests are skipped.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { resources } from '../../../src/contract/index.ts'
import {
  addressesOfApps,
  appOf,
  assertNothingLeft,
  buildOf,
  cgroupsOf,
  hostileDeploy,
  processesOf,
  TRY,
  triedIn,
  userOf,
  watchSite,
} from '../../support/machine/hostile.ts'
import { steadyAddresses } from '../../support/machine/network.ts'
import { deploy, type Files, nodeServer, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

const MEBIBYTE = 1024 ** 2
const SECRET = 'only-the-service-knows-this'

const ends: (() => unknown)[] = []
const service = await startService(
  { after: (end: () => unknown) => void ends.unshift(end) },
  {
    settings: {
      HEADLAND_LISTEN: '0.0.0.0:0',
      HEADLAND_EDGE_LISTEN: '0.0.0.0:0',
      HEADLAND_BUILD_MEMORY: String(300 * MEBIBYTE),
      HEADLAND_APP_MEMORY: String(200 * MEBIBYTE),
      HEADLAND_PROCESSES: '100',
      HEADLAND_BUILD_DISK: String(300 * MEBIBYTE),
      HEADLAND_BUILD_FILES: '70000',
      HEADLAND_APP_DISK: String(100 * MEBIBYTE),
      SECRET_OF_THE_SERVICE: SECRET,
    },
  },
)
after(async () => {
  for (const end of ends) await end()
})
const as = await service.login()
await service.operator('accounts', 'create', 'neighbours')
const neighbour = await service.login('owner', 'neighbours')
const { weaknesses }: resources.Isolation = (await service.call('/v1/isolation', { as })).json
// As root on Linux these tests must be able to run.
const skip = process.getuid?.() !== 0 && weaknesses.join('; ')

const home = await createEnvironment(service, neighbour, { account: 'neighbours' })
if (!skip) await deploy(service, neighbour, home.name, nodeServer('at home'))
const watch = watchSite(service, home.url)
ends.unshift(() => watch.stop())
await wait(2000)

const attack = (files: Files, known?: resources.Environment) => hostileDeploy(service, as, files, known)
const linesOf = (log: string): string[] => log.split('\n').filter(Boolean)

/** Runs a build that must fail with a reason, and leave nothing behind. */
async function assertBuildFails(files: Files, reason: RegExp) {
  const { build, log, environment } = await attack(files)
  assert.match(build.failure?.reason ?? 'none', reason, log.slice(-2000))
  await assertNothingLeft(service, environment)
}

test('an install that leaves very many files in one folder does not make the service large', { skip }, async (t) => {
  watch.enter('many files of an install')
  const before = memoryOf(service.controlPid(), 'VmRSS')
  const make = `const fs = require('node:fs')
    fs.mkdirSync('node_modules/many', { recursive: true })
    for (let count = 0; count < 60_000; count++) fs.closeSync(fs.openSync('node_modules/many/' + count, 'w'))`
  const { environment, build, log } = await attack(
    buildOf('', {
      'package.json': JSON.stringify({
        name: 'hostile',
        dependencies: { local: 'file:./local' },
        scripts: { postinstall: 'node make.js', build: 'node build.js' },
      }),
      'local/package.json': JSON.stringify({ name: 'local', version: '1.0.0' }),
      'make.js': make,
    }),
  )
  assert.equal(build.failure, undefined, log)
  const grown = Math.round((memoryOf(service.controlPid(), 'VmHWM') - before) / MEBIBYTE)
  t.diagnostic(`the service grew by ${grown} MiB at most`)
  assert.ok(grown < 100, `the service grew by ${grown} MiB`)
  await assertNothingLeft(service, environment)
})

test('a build that is a fork bomb is TOO_MANY_PROCESSES', { skip }, async () => {
  watch.enter('fork bomb in a build')
  const bomb = 'bomb() { bomb | bomb & }; bomb; sleep 60'
  await assertBuildFails(buildOf(`spawnSync('bash', ['-c', ${JSON.stringify(bomb)}])`), /^TOO_MANY_PROCESSES$/)
})

test('a build that takes memory without end is OUT_OF_MEMORY', { skip }, async () => {
  watch.enter('memory of a build')
  const hog = `const held = []; for (;;) held.push(Buffer.alloc(10 * 1024 ** 2, 1))`
  await assertBuildFails(buildOf(hog), /^OUT_OF_MEMORY$/)
})

test('a build that fills /tmp and shared memory is OUT_OF_MEMORY', { skip }, async () => {
  watch.enter('files in memory of a build')
  const fill = `
    const chunk = Buffer.alloc(1024 ** 2, 1)
    for (let count = 0; ; count++) fs.appendFileSync((count % 2 ? '/tmp/' : '/dev/shm/') + 'full', chunk)
  `
  await assertBuildFails(buildOf(fill), /^OUT_OF_MEMORY$/)
})

test('a build that fills the disk is DISK_LIMIT', { skip }, async () => {
  watch.enter('disk of a build')
  const fill = `
    const chunk = Buffer.alloc(1024 ** 2, 1)
    for (let count = 0; ; count++) fs.appendFileSync('full-' + (count >> 6), chunk)
  `
  await assertBuildFails(buildOf(fill), /^DISK_LIMIT$/)
})

test('a build that fills the disk with a file that has no name is DISK_LIMIT', { skip }, async () => {
  watch.enter('nameless file of a build')
  const fill = `
    const chunk = Buffer.alloc(1024 ** 2, 1)
    for (let count = 0; ; count++) {
      const file = fs.openSync('gone-' + count, 'w')
      fs.unlinkSync('gone-' + count)
      for (let times = 0; times < 60; times++) fs.writeSync(file, chunk)
    }
  `
  await assertBuildFails(buildOf(fill), /^DISK_LIMIT$/)
})

test('a build that makes files without end and without content is ended', { skip }, async () => {
  watch.enter('empty files of a build')
  const fill = `
    for (let count = 0; ; count++) {
      if (count % 1000 === 0) fs.mkdirSync('empty/' + count / 1000, { recursive: true })
      fs.closeSync(fs.openSync('empty/' + Math.floor(count / 1000) + '/' + 'name'.repeat(50) + count, 'w'))
    }
  `
  await assertBuildFails(buildOf(fill), /^DISK_LIMIT$/)
})

test('a build that opens files without end reaches only its own limit', { skip }, async () => {
  watch.enter('open files of a build')
  const hog = `${TRY}
    let count = 0
    attempt('open', () => { for (;; count++) fs.openSync('/dev/null') })
    process.stdout.write('opened ' + count + '\\n', () => process.exit(1))
  `
  const { build, log, environment } = await attack(buildOf(hog))
  assert.equal(triedIn(log).open, 'EMFILE', log)
  assert.equal(build.failure?.reason, 'BUILD_SCRIPT_FAILED')
  await assertNothingLeft(service, environment)
})

test('a build that leaves nested folders, deeper than a path may be, fails with that reason and is removed', {
  skip,
}, async () => {
  watch.enter('deep folders of a build')
  const dig = `
    process.chdir('dist')
    for (let depth = 0; depth < 1000; depth++) {
      fs.mkdirSync('deeper')
      process.chdir('deeper')
    }
  `
  const { build, environment, log } = await attack(buildOf(dig))
  assert.equal(build.failure?.fault, 'app', log)
  await assertNothingLeft(service, environment)
})

test('a build that fails and leaves folders deeper than a path may be is removed', { skip }, async () => {
  watch.enter('deep folders of a build')
  const dig = `
    for (let depth = 0; depth < 1000; depth++) {
      fs.mkdirSync('deeper')
      process.chdir('deeper')
    }
    process.exit(1)
  `
  await assertBuildFails(buildOf(dig), /^BUILD_SCRIPT_FAILED$/)
})

test('a build that leaves names that are no text, unreadable folders, and pipes is removed', {
  skip,
}, async () => {
  watch.enter('strange files of a build')
  const leave = `
    fs.writeFileSync(Buffer.from([0x64, 0x69, 0x73, 0x74, 0x2f, 0xff, 0xfe]), 'x')
    fs.mkdirSync(Buffer.from([0x64, 0x69, 0x73, 0x74, 0x2f, 0xfd]))
    fs.writeFileSync(Buffer.from([0x64, 0x69, 0x73, 0x74, 0x2f, 0xfd, 0x2f, 0xff]), 'x')
    fs.mkdirSync('dist/closed/inside', { recursive: true })
    fs.writeFileSync('dist/closed/inside/file', 'x', { mode: 0 })
    fs.chmodSync('dist/closed/inside', 0)
    fs.chmodSync('dist/closed', 0)
    spawnSync('mkfifo', ['dist/pipe'])
    require('node:net').createServer().listen('dist/socket', () => process.exit())
  `
  const { build, environment, log } = await attack(buildOf(leave))
  assert.equal(build.failure, undefined, log)
  assert.equal((await siteAnswer(service, environment.url)).text, 'a page')
  await assertNothingLeft(service, environment)
})

test('links in an output lead no visitor out of it', { skip }, async () => {
  watch.enter('links of a build')
  const places = { key: join(service.dataDir, 'master.key'), passwd: '/etc/passwd', top: '/' }
  const link = `for (const [name, to] of ${JSON.stringify(Object.entries(places))}) fs.symlinkSync(to, 'dist/' + name)`
  const { environment } = await attack(buildOf(link))
  for (const path of ['/key', '/passwd', '/top/etc/passwd']) {
    assert.equal((await siteAnswer(service, environment.url, path)).status, 404, path)
  }
})

test('an output that is itself a link to another place of the machine is none', { skip }, async () => {
  watch.enter('links of a build')
  const link = `fs.rmSync('dist', { recursive: true }); fs.symlinkSync(${JSON.stringify(service.dataDir)}, 'dist')`
  await assertBuildFails(buildOf(link), /^NO_OUTPUT$/)
})

test('background processes of a build end with it', { skip }, async () => {
  watch.enter('daemon of a build')
  const daemon = `trap '' TERM HUP INT; setsid setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 1; done' &`
  const { build, environment, log } = await attack(
    buildOf(`
      spawnSync('sh', ['-c', ${JSON.stringify(daemon)}], { stdio: 'inherit' })
      spawn('sh', ['-c', ${JSON.stringify(daemon)}], { detached: true, stdio: 'ignore' }).unref()
    `),
  )
  assert.equal(build.failure, undefined, log)
  await assertNothingLeft(service, environment)
})

test('a build that ignores signals is ended at its deadline', { skip }, async (t) => {
  watch.enter('deadline of a build')
  // A service of its own, since its short deadline would end other builds of this file.
  const strict = await startService(t, { settings: { HEADLAND_BUILD_TIMEOUT: '3' } })
  const stay = `for (const name of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(name, () => {}); setInterval(() => {}, 1000)`
  const { build, log, environment } = await hostileDeploy(strict, await strict.login(), buildOf(stay))
  assert.equal(build.failure?.reason, 'BUILD_TIMEOUT', log)
  await assertNothingLeft(strict, environment)
})

test('a build that kills every process it can kills only its own, not even the app of its environment', {
  skip,
}, async () => {
  watch.enter('signals of a build')
  const { environment } = await attack(appOf(''))
  const [before] = processesOf(service, userOf(service, environment))
  const { build, log } = await attack(buildOf(`process.kill(-1, 'SIGKILL')`), environment)
  assert.notEqual(build.failure, undefined, log)
  assert.equal((await siteAnswer(service, environment.url)).text, 'fine')
  assert.equal(processesOf(service, userOf(service, environment))[0], before)
  await assertNothingLeft(service, environment, 1)
})

test('a build traces no process and sees none but its own', { skip: skip || !('ptrace' in callsHere()) }, async () => {
  watch.enter('tracing of a build')
  const [attach, number] = [16, callsHere().ptrace]
  const look = `${TRY}
    const trace = (pid) => String(spawnSync('perl', ['-e', 'syscall(${number}, ${attach}, ' + pid + ', 0, 0) == 0 and print "traced" or print $!'] ).stdout)
    attempt('parent', () => trace(process.ppid))
    attempt('first', () => trace(1))
    attempt('service', () => trace(${service.controlPid()}))
    attempt('processes', () => fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).map((pid) => fs.readFileSync('/proc/' + pid + '/comm', 'utf8').trim()))
  `
  const { log } = await attack(buildOf(look))
  const { processes, ...traced } = triedIn(log)
  for (const [name, outcome] of Object.entries(traced)) assert.match(String(outcome), /not permitted/i, name)
  for (const name of processes as string[]) assert.match(name, /^(bwrap|npm.*|sh|node|MainThread)$/)
})

test('a build finds no secret of the machine, of the service or of another tenant', { skip }, async () => {
  watch.enter('secrets')
  const key = await readFile(join(service.dataDir, 'master.key'), 'utf8')
  const inside = readdirSync(service.dataDir).map((name) => join(service.dataDir, name))
  const places = ['/etc/shadow', '/etc/passwd', '/root', '/home', '/sys', '/run', '/var', '/proc/kcore', '/dev/mem']
  const others = [
    `/proc/${service.controlPid()}/environ`,
    `/proc/${process.pid}/environ`,
    `/proc/${service.controlPid()}/root`,
  ]
  const look = `${TRY}
    const read = (path) => fs.statSync(path).isDirectory() ? fs.readdirSync(path) : fs.readFileSync(path, 'utf8').slice(0, 200)
    for (const path of ${JSON.stringify([...places, ...others, service.dataDir, ...inside])}) attempt(path, () => read(path))
    for (const pid of fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name))) {
      attempt('environ of ' + pid, () => fs.readFileSync('/proc/' + pid + '/environ', 'utf8'))
      attempt('open files of ' + pid, () => fs.readdirSync('/proc/' + pid + '/fd').map((fd) => fs.readlinkSync('/proc/' + pid + '/fd/' + fd)))
      attempt('root of ' + pid, () => fs.readdirSync('/proc/' + pid + '/root'))
    }
    console.log(spawnSync('find', ['/', '-xdev', '-name', '*.key'], { encoding: 'utf8' }).stdout)
    for (const name of ['cmdline', 'environ', 'mountinfo', 'cgroup']) console.log(fs.readFileSync('/proc/1/' + name, 'utf8'))
  `
  const { log, environment } = await attack(buildOf(look))
  const tried = triedIn(log)
  for (const path of [...places, ...others, service.dataDir, ...inside]) {
    assert.match(String(tried[path]), /^(ENOENT|EACCES|EPERM)$/, `${path}: ${tried[path]}`)
  }
  for (const secret of [SECRET, key.trim(), as.password, neighbour.password]) assert.ok(!log.includes(secret))
  await assertNothingLeft(service, environment)
})

test('a build changes neither its tools nor the system', { skip }, async () => {
  watch.enter('tools')
  const before = stateOf(process.execPath)
  const change = `${TRY}
    const tools = [process.execPath, '/headland/node', '/headland/launch.mjs', ...fs.readdirSync('/headland').map((name) => '/headland/' + name)]
    for (const path of tools) {
      attempt('write ' + path, () => fs.appendFileSync(fs.statSync(path).isDirectory() ? path + '/new' : path, 'evil'))
      attempt('move ' + path, () => fs.renameSync(path, path + '-evil'))
      attempt('open up ' + path, () => fs.chmodSync(path, 0o777))
    }
    for (const folder of ['/usr/bin', '/usr/local/bin', '/usr/lib', '/etc', '/proc/sys/kernel', '/', '/headland']) {
      attempt('write ' + folder, () => fs.writeFileSync(folder + '/evil', 'evil'))
    }
    attempt('write core_pattern', () => fs.writeFileSync('/proc/sys/kernel/core_pattern', '|/tmp/evil'))
  `
  const { log, environment } = await attack(buildOf(change))
  const tried = Object.entries(triedIn(log))
  assert.ok(tried.length > 15, log)
  for (const [name, outcome] of tried)
    assert.match(String(outcome), /^(EROFS|EACCES|EPERM|ENOENT|EBUSY|ETXTBSY)$/, name)
  assert.deepEqual(stateOf(process.execPath), before)
  await assertNothingLeft(service, environment)
})

/** What changes with each write to a file. Its content would take a second to read. */
function stateOf(path: string) {
  const { ino, mode, uid, size, mtimeNs } = statSync(path, { bigint: true })
  return { ino, mode, uid, size, mtimeNs }
}

const PINNED = {
  version: '7.0.0',
  integrity: 'sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==',
}

function withPackage(script: string): Files {
  const about = { name: 'shared', version: '1.0.0', dependencies: { 'is-number': '7.0.0' } }
  const packages = { '': about, 'node_modules/is-number': PINNED }
  return buildOf(script, {
    'package.json': JSON.stringify({ ...about, scripts: { build: 'node build.js' } }),
    'package-lock.json': JSON.stringify({ ...about, lockfileVersion: 3, requires: true, packages }),
  })
}

test('a build that changes its packages changes them for no other environment', { skip }, async () => {
  watch.enter('packages')
  const first = await attack(withPackage(''))
  assert.equal(first.build.failure, undefined, first.log)
  const before = digestOfFolder(join(service.dataDir, 'packages'))
  const evil = `
    fs.writeFileSync('node_modules/is-number/index.js', 'module.exports = () => "evil"')
    fs.rmSync('node_modules/is-number/package.json')
  `
  const second = await attack(withPackage(evil))
  assert.match(second.log, /Nothing to install/)
  assert.equal(digestOfFolder(join(service.dataDir, 'packages')), before)
})

/** Names, modes and contents. */
function digestOfFolder(folder: string): string {
  const hash = createHash('sha256')
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    hash.update(`${path} ${lstatSync(path).mode}\n`)
    if (entry.isFile()) hash.update(readFileSync(path))
  }
  return hash.digest('hex')
}

const CALL = `
  const { connect } = require('node:net')
  const call = ([name, place]) => new Promise((resolve) => {
    const socket = connect({ ...place, timeout: 1500 })
    const settle = (how) => { socket.destroy(); resolve([name, how]) }
    socket.once('connect', () => settle('reached'))
    socket.once('timeout', () => settle('late'))
    socket.once('error', ({ code }) => settle(code))
  })
  const callAll = (places) => Promise.all(Object.entries(places).map(call))
`

type Place = { host?: string; port?: number; path?: string }

/** Every address of this machine that an attacker could want to reach, and the edge, which is open to everyone. */
async function placesHere(): Promise<Record<string, Place>> {
  const [api, edge] = [Number(new URL(service.api).port), Number(new URL(service.edge).port)]
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  const hosts = own.filter(({ family }) => family === 'IPv4').map(({ address }) => address)
  const apps = await addressesOfApps(service)
  assert.ok(apps.length > 0, 'the neighbour has an address')
  return Object.fromEntries([
    ...[...hosts, '0.0.0.0', '127.0.0.2'].flatMap((host) => [[`API at ${host}`, { host, port: api }]]),
    ...steadyAddresses().map((host) => [`edge at ${host}`, { host, port: edge }]),
    ['beside the edge', { host: '127.0.0.2', port: edge }],
    ...apps.map((host) => [`app at ${host}`, { host, port: 8080 }]),
    ['metadata', { host: '169.254.169.254', port: 80 }],
    ['private network', { host: '192.168.1.1', port: 80 }],
  ])
}

test('a build reaches neither the service nor this machine, its neighbour or the metadata of a cloud', {
  skip,
}, async (t) => {
  watch.enter('network of a build')
  let calls = 0
  const listener = createServer(() => calls++).listen(0, '127.0.0.1')
  const abstract = createServer(() => calls++).listen(`\0headland-test-${process.pid}`)
  t.after(() => [listener, abstract].map((server) => server.close()))
  await Promise.all([listener, abstract].map((server) => server.listening || once(server, 'listening')))
  const places = {
    ...(await placesHere()),
    loopback: { host: '127.0.0.1', port: (listener.address() as { port: number }).port },
    'abstract socket': { path: `\0headland-test-${process.pid}` },
  }
  const { log, environment } = await attack(
    buildOf(
      `${CALL} callAll(${JSON.stringify(places)}).then((all) => all.map((each) => console.log('TRIED ' + JSON.stringify(each))))`,
    ),
  )
  const tried = triedIn(log)
  assert.deepEqual(Object.keys(tried).toSorted(), Object.keys(places).toSorted(), log)
  for (const [name, how] of Object.entries(tried))
    assert.equal(how, name.startsWith('edge at') ? 'reached' : 'ECONNREFUSED', name)
  assert.equal(calls, 0)
  await assertNothingLeft(service, environment)
})

const LOG_BYTES = 32 * MEBIBYTE

test('a build that floods its log ends, and the log is bounded', { skip }, async (t) => {
  watch.enter('flood of lines')
  const flood = `
    const lines = ('all work and no play '.repeat(50) + '\\n').repeat(60)
    let left = 40 * 1024 ** 2
    const more = () => {
      while (left > 0) {
        left -= lines.length
        if (!process.stdout.write(lines)) return process.stdout.once('drain', more)
      }
    }
    more()
  `
  const { longestMs, result } = await whileAskingApi(() => attack(buildOf(flood)))
  t.diagnostic(`the API took ${longestMs} ms at most meanwhile`)
  assert.equal(result.build.failure, undefined, result.log.slice(-2000))
  assert.ok(result.log.length < 1.5 * LOG_BYTES, `${result.log.length}`)
  assert.ok(bytesIn(join(service.dataDir, 'logs')) < 3 * LOG_BYTES)
  assert.match(result.log, /The log is full/)
  await assertNothingLeft(service, result.environment)
})

test('a line of 8 MB is cut', { skip }, async (t) => {
  watch.enter('one long line')
  const flood = `
    let left = 8
    const chunk = 'x'.repeat(1024 ** 2)
    const more = () => {
      while (left-- > 0) if (!process.stdout.write(chunk)) return process.stdout.once('drain', more)
      process.stdout.write('\\nthe end\\n')
    }
    more()
  `
  const { longestMs, result } = await whileAskingApi(() => attack(buildOf(flood)))
  t.diagnostic(`the API took ${longestMs} ms at most meanwhile`)
  assert.equal(result.build.failure, undefined, result.log.slice(-2000))
  assert.ok(result.log.length < MEBIBYTE, `${result.log.length}`)
  assert.match(result.log, /the end$/m)
  await assertNothingLeft(service, result.environment)
})

test('a log holds no control characters, whatever a build writes', { skip }, async () => {
  watch.enter('control characters')
  const write = `
    process.stdout.write('\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\x1b]8;;http://evil.test\\x07link\\x1b]8;;\\x07 \\x9b2J\\n')
    process.stdout.write('over\\rdrawn \\x00\\x08\\x7f \\u202eback \\u2028 end\\n')
    process.stderr.write(Buffer.from(Array.from({ length: 256 }, (_, code) => code)))
    process.stdout.write('\\x1b[2J\\x1bc\\x1bP+q\\x1b\\\\ last\\n')
  `
  const { log, build } = await attack(buildOf(write))
  assert.equal(build.failure, undefined, log)
  assert.match(log, /red/)
  for (const line of linesOf(log)) assert.doesNotMatch(line, /(?!\t)[\p{Cc}\u2028\u2029\u202a-\u202e]/u)
})

async function whileAskingApi<T>(act: () => Promise<T>): Promise<{ longestMs: number; result: T }> {
  let [longestMs, isOver] = [0, false]
  const asking = (async () => {
    while (!isOver) {
      const began = performance.now()
      await service.call('/v1/isolation', { as })
      longestMs = Math.max(longestMs, Math.round(performance.now() - began))
      await wait(100)
    }
  })()
  const result = await act().finally(() => {
    isOver = true
  })
  await asking
  return { longestMs, result }
}

function bytesIn(folder: string): number {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

/** Sends a live app the request that ends it, and waits until it answers again. */
async function assertAppIsEndedAndBack(files: Files, limit: 'memory' | 'processes' | 'disk') {
  const { environment, build, log } = await attack(files)
  assert.equal(build.failure, undefined, log)
  siteAnswer(service, environment.url, '/attack').catch(() => undefined)
  const runtimeLog = await runtimeLogUntil(environment, /The app was ended/)
  assert.match(runtimeLog, new RegExp(`it reached its limit of ${limit}\\.`))
  await untilAnswers(environment.url, 'fine')
  assert.equal(cgroupsOf(service).filter((cgroup) => cgroup.endsWith('_build')).length, 0)
  return environment
}

async function runtimeLogUntil({ name }: resources.Environment, pattern: RegExp): Promise<string> {
  return until(async () => {
    const { text } = await service.call(`/v1/${name}/logs`, { as })
    return pattern.test(text) && text
  }, `${pattern} is in the log`)
}

async function untilAnswers(url: string, text: string) {
  const answer = () => siteAnswer(service, url).catch(() => undefined)
  await until(async () => (await answer())?.text === text, 'it answers again')
}

test('an app that takes memory without end is ended with a line in its log, and started again', { skip }, async () => {
  watch.enter('memory of an app')
  const hog = `if (path === '/attack') { const held = []; for (;;) held.push(Buffer.alloc(1024 ** 2, 1)) }`
  await assertAppIsEndedAndBack(appOf(hog), 'memory')
})

test('an app that is a fork bomb is ended with a line in its log, and started again', { skip }, async () => {
  watch.enter('fork bomb in an app')
  const bomb = 'bomb() { bomb | bomb & }; bomb; sleep 60'
  const files = appOf(`if (path === '/attack') spawn('bash', ['-c', ${JSON.stringify(bomb)}])`)
  await assertAppIsEndedAndBack(files, 'processes')
})

test('an app that fills its disk is ended with a line in its log, and started again', { skip }, async () => {
  watch.enter('disk of an app')
  const server = appOf(`
    if (path === '/attack') {
      const chunk = Buffer.alloc(1024 ** 2, 1)
      for (let count = 0; ; count++) fs.appendFileSync('node_modules/.astro/sessions/' + (count >> 5), chunk)
    }
  `)
  const entry = `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)\n${server['server.js']}`
  const about = { name: 'astro', version: '5.0.0' }
  await assertAppIsEndedAndBack(
    {
      'package.json': JSON.stringify({
        name: 'hostile',
        scripts: { build: 'node build.mjs' },
        dependencies: { astro: 'file:./astro', '@astrojs/node': 'file:./adapter' },
      }),
      'astro/package.json': JSON.stringify(about),
      'adapter/package.json': JSON.stringify({ ...about, name: '@astrojs/node' }),
      'astro.config.mjs': `import node from '@astrojs/node'\nexport default { output: 'server', adapter: node({ mode: 'standalone' }) }`,
      'build.mjs': `import { mkdirSync, writeFileSync } from 'node:fs'
        mkdirSync('dist/server', { recursive: true })
        writeFileSync('dist/server/entry.mjs', ${JSON.stringify(entry)})`,
    },
    'disk',
  )
})

/** Answers with invalid HTTP. */
const RAW: Files = {
  'package.json': JSON.stringify({ name: 'hostile', scripts: { start: 'node server.js' } }),
  'server.js': `
    const fine = 'HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nfine'
    const flood = (socket, text) => {
      const more = () => { while (!socket.destroyed && socket.write(text)); }
      socket.on('drain', more)
      more()
    }
    const answers = {
      '/garbage': (socket) => socket.end(Buffer.alloc(1024 ** 2, 0xfe)),
      '/headers': (socket) => { socket.write('HTTP/1.1 200 OK\\r\\n'); flood(socket, ('X-' + 'x'.repeat(100) + ': 1\\r\\n').repeat(100)) },
      '/one-header': (socket) => { socket.write('HTTP/1.1 200 OK\\r\\nX: '); flood(socket, 'x'.repeat(65536)) },
      '/endless': (socket) => { socket.write('HTTP/1.1 200 OK\\r\\n\\r\\n'); flood(socket, 'x'.repeat(65536)) },
      '/split': (socket) => socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nfineHTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nevil'),
      '/two-lengths': (socket) => socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\nContent-Length: 9\\r\\n\\r\\nfineevil!'),
      '/hints': (socket) => flood(socket, 'HTTP/1.1 103 Early Hints\\r\\nLink: </x>\\r\\n\\r\\n'.repeat(1000)),
      '/silence': () => {},
    }
    require('node:net').createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (chunk) => {
        const path = String(chunk).split(' ')[1]
        if (answers[path]) answers[path](socket)
        else socket.write(fine)
      })
    }).listen(process.env.PORT, process.env.HOST)
  `,
}

type Taste = { forMs: number; maxBytes?: number }

/** Reads for a while, or until it has read that much, and disconnects. */
function taste(
  url: string,
  path: string,
  { forMs, maxBytes = Number.POSITIVE_INFINITY }: Taste,
): Promise<{ status: number | undefined; bytes: number }> {
  const { hostname, port } = new URL(service.edge)
  return new Promise((resolve) => {
    let [status, bytes]: [number | undefined, number] = [undefined, 0]
    const asked = request({ host: hostname, port, path, headers: { host: new URL(url).host }, agent: false })
    const settle = () => {
      clearTimeout(timer)
      asked.destroy()
      resolve({ status, bytes })
    }
    const timer = setTimeout(settle, forMs)
    asked.on('response', (response) => {
      status = response.statusCode
      response.on('data', (chunk) => {
        bytes += chunk.length
        if (bytes >= maxBytes) settle()
      })
      response.on('end', settle)
      response.on('error', settle)
    })
    asked.on('error', settle)
    asked.end()
  })
}

test("an app's response that is not valid HTTP becomes an error of the edge", { skip }, async () => {
  watch.enter('answers of an app')
  const { environment, build, log } = await attack(RAW)
  assert.equal(build.failure, undefined, log)
  const memoryBefore = memoryOf(service.edgePid(), 'VmRSS')
  for (const path of ['/garbage', '/headers', '/one-header', '/two-lengths']) {
    assert.deepEqual((await taste(environment.url, path, { forMs: 5000 })).status, 502, path)
  }
  const split = await siteAnswer(service, environment.url, '/split')
  assert.equal(split.text, 'fine')
  for (let count = 0; count < 5; count++) assert.equal((await siteAnswer(service, environment.url)).text, 'fine')
  assert.ok(memoryOf(service.edgePid(), 'VmRSS') < memoryBefore + 150 * MEBIBYTE)
})

test('a visitor can abort a response that never ends, and nothing of it stays in memory', { skip }, async () => {
  watch.enter('endless answers of an app')
  const { environment } = await attack(RAW)
  const memoryBefore = memoryOf(service.edgePid(), 'VmRSS')
  // Together more than the edge may grow by.
  const share = { forMs: TIMEOUT_MS, maxBytes: 50 * MEBIBYTE }
  const endless = await Promise.all(Array.from({ length: 5 }, () => taste(environment.url, '/endless', share)))
  for (const { status, bytes } of endless) assert.ok(status === 200 && bytes >= share.maxBytes)
  await Promise.all(['/silence', '/hints'].map((path) => taste(environment.url, path, { forMs: 500 })))
  assert.equal((await siteAnswer(service, environment.url)).text, 'fine')
  const grown = memoryOf(service.edgePid(), 'VmRSS') - memoryBefore
  assert.ok(grown < 150 * MEBIBYTE, `the edge grew by ${Math.round(grown / MEBIBYTE)} MiB`)
})

test("an app reaches neither the service nor another tenant's app on all interfaces", { skip }, async () => {
  watch.enter('network of an app')
  const places = await placesHere()
  const caller = appOf(`
    if (path === '/call') return callAll(${JSON.stringify(places)}).then((all) => response.end(JSON.stringify(all)))
  `)
  const { environment } = await attack({ ...caller, 'server.js': `${CALL}${caller['server.js']}` })
  const found: [string, string][] = JSON.parse((await siteAnswer(service, environment.url, '/call')).text)
  assert.equal(found.length, Object.keys(places).length)
  for (const [name, how] of found) assert.equal(how, name.startsWith('edge at') ? 'reached' : 'ECONNREFUSED', name)
})

test('an app on all interfaces is not reached by another user of this machine', { skip }, async () => {
  const [address = ''] = await addressesOfApps(service)
  const asNobody = ['--reuid', '65534', '--regid', '65534', '--clear-groups', 'bash', '-c', 'exec 3<>/dev/tcp/$0/8080']
  await assert.rejects(promisify(execFile)('setpriv', [...asNobody, address]), /refused/i)
})

test('an app that floods its log keeps it bounded', { skip }, async (t) => {
  watch.enter('flood of lines of an app')
  const flood = `
    if (path === '/attack') {
      const lines = ('all work and no play '.repeat(4) + '\\n').repeat(700)
      let left = 40 * 1024 ** 2
      const more = () => {
        while (left > 0) {
          left -= lines.length
          if (!process.stdout.write(lines)) return process.stdout.once('drain', more)
        }
        response.end('flooded')
      }
      return more()
    }
  `
  const { environment } = await attack(appOf(flood))
  const { longestMs, result } = await whileAskingApi(() => siteAnswer(service, environment.url, '/attack'))
  t.diagnostic(`the API took ${longestMs} ms at most meanwhile`)
  assert.equal(result.text, 'flooded')
  assert.ok((await service.call(`/v1/${environment.name}/logs`, { as })).text.length < 12 * MEBIBYTE)
})

test('nothing is left of a deleted environment, not even background processes of its app', {
  skip,
}, async () => {
  watch.enter('removal')
  const { environment } = await attack(
    appOf(`if (path === '/attack') spawn('setsid', ['sleep', '600'], { detached: true, stdio: 'ignore' }).unref()`),
  )
  await siteAnswer(service, environment.url, '/attack')
  const uid = userOf(service, environment)
  const asked = await service.call(`/v1/${environment.name}`, { method: 'DELETE', as })
  await untilDone(service, as, asked.json.name)
  await until(() => processesOf(service, uid).length === 0)
  assert.ok(!readdirSync(join(service.dataDir, 'environments')).includes(environment.name.split('/').at(-1) ?? ''))
})

test('the other tenant was not affected: every request was answered', { skip }, async (t) => {
  const { count, failures } = await watch.stop()
  t.diagnostic(`${count} requests; medians in ms: ${JSON.stringify(watch.medians())}`)
  assert.deepEqual(failures, [])
})

function callsHere(): { ptrace?: number } {
  return { x64: { ptrace: 101 }, arm64: { ptrace: 117 } }[process.arch as string] ?? {}
}

function memoryOf(pid: number, what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return 1024 * Number(new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1])
}
