/**
 * Real programs against real limits. The programs use few resources, and end by themselves if the limit does not end
 * them.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { type Limiter, type Limits, openLimiter } from '../../src/engines/limits/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'

const NAME = `test${process.pid}`
const MB = 1_000_000
const WIDE_LIMITS: Limits = {
  memoryBytes: 1000 * MB,
  processes: 500,
  cpuWeight: 100,
  openFiles: 1000,
  fileBytes: 2000 * MB,
  diskBytes: null,
  diskFiles: null,
}

const best = await openLimiter({ name: NAME })
const watchdog = await openLimiter({ name: NAME, root: '/nowhere' })
const needsRoot = process.getuid?.() === 0 ? false : 'only root may do this'
const needsCgroups = best.kind === 'watchdog' ? 'no cgroup here can be written' : false

type Options = { limits?: Partial<Limits>; folders?: string[]; cwd?: string }

function start(limiter: Limiter, command: string[], { limits, folders = [], cwd }: Options = {}) {
  const cgroup = limiter.cgroup('test', { ...WIDE_LIMITS, ...limits })
  const [file = '', ...args] = cgroup.around(command)
  const child = spawn(file, args, {
    env: { PATH: '/usr/bin:/bin' },
    detached: true,
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const kills: number[] = []
  const kill = () => {
    kills.push(Date.now())
    try {
      process.kill(-(child.pid as number), 'SIGKILL')
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
    }
  }
  cgroup.watch(child.pid as number, kill, folders)
  const ended = once(child, 'close').then(async ([code, signal]) => ({
    ...(await cgroup.leave()),
    code: code as number | null,
    signal: signal as string | null,
    kills,
    output,
  }))
  return { child, cgroup, ended }
}

const run = (limiter: Limiter, command: string[], options?: Options) => start(limiter, command, options).ended

/** Takes memory as fast as it can, up to 300 MB. */
const HOG = `const held = []; for (let i = 0; i < 30; i++) held.push(Buffer.alloc(10e6, 1)); setTimeout(() => {}, 60e3)`

/** Starts far more processes than it may, and waits. */
const MANY = 'i=0; while [ $i -lt 300 ]; do sleep 60 & i=$((i+1)); done; wait'

/** Every cgroup with our name, in all hierarchies. */
async function groupsLeft(name = NAME): Promise<string[]> {
  const { stdout } = await promisify(execFile)('find', [
    '/sys/fs/cgroup',
    '-type',
    'd',
    '-name',
    `headland-${name}`,
  ]).catch((error) => error)
  return stdout.split('\n').filter(Boolean)
}

/** A process that was killed and not yet waited for counts as dead. */
const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

async function bystander(t: TestContext): Promise<ChildProcess> {
  const child = spawn('sleep', ['60'], { env: { PATH: '/usr/bin:/bin' } })
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  return child
}

for (const [title, limiter, skip] of [
  ['the kernel', best, needsCgroups],
  ['the watchdog alone', watchdog, false],
] as const) {
  test(`${title}: a job that takes too much memory is ended as a whole, and no other process is`, {
    skip,
  }, async (t) => {
    const other = await bystander(t)
    const script = 'sleep 60 & "$0" -e "$1"; echo survived; sleep 60'
    const limits = { memoryBytes: 100 * MB }
    const ending = await run(limiter, ['sh', '-c', script, process.execPath, HOG], { limits })
    assert.deepEqual(ending.excess, ['memory'])
    assert.ok((ending.peakMemoryBytes ?? 0) > 80 * MB, `${ending.peakMemoryBytes} bytes at most`)
    assert.equal(other.exitCode, null)
  })

  test(`${title}: a job that starts too many processes is ended as a whole`, { skip }, async () => {
    const ending = await run(limiter, ['sh', '-c', MANY], { limits: { processes: 50 } })
    assert.deepEqual(ending.excess, ['processes'])
  })

  test(`${title}: a job within its limits is left alone, and its figures are reported`, { skip }, async () => {
    const script = `const held = Buffer.alloc(50e6, 1); while (process.cpuUsage().user < 500e3); held.at(0)`
    const ending = await run(limiter, [process.execPath, '-e', script])
    assert.deepEqual([ending.excess, ending.code, ending.kills], [[], 0, []])
    const { peakMemoryBytes, cpuSeconds } = ending
    assert.ok(peakMemoryBytes && peakMemoryBytes > 50 * MB && peakMemoryBytes < 300 * MB, `${peakMemoryBytes} bytes`)
    assert.ok(cpuSeconds && cpuSeconds > 0.2 && cpuSeconds < 5, `${cpuSeconds} s`)
  })
}

test('a fork bomb is limited and ended, and the machine stays usable', { skip: needsCgroups }, async () => {
  const bomb = start(best, ['sh', '-c', 'bomb() { bomb | bomb & bomb; }; bomb'], { limits: { processes: 60 } })
  await promisify(execFile)('/bin/true')
  assert.deepEqual((await bomb.ended).excess, ['processes'])
})

test('without cgroups, no user gets far beyond its process limit before the watchdog looks', {
  skip: needsRoot,
}, async () => {
  const cgroup = watchdog.cgroup('test', { ...WIDE_LIMITS, processes: 20 })
  const command = ['setpriv', '--reuid', '218881', '--regid', '218881', '--clear-groups', 'sh', '-c', MANY]
  const [file = '', ...args] = cgroup.around(command)
  const child = spawn(file, args, {
    env: { PATH: '/usr/bin:/bin' },
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr?.on('data', (chunk) => (errors += chunk))
  // No watchdog runs here, so the kernel's process limit of the user is the only one. Child processes keep the pipe
  // open.
  await once(child, 'exit')
  process.kill(-(child.pid as number), 'SIGKILL')
  await cgroup.leave()
  assert.match(errors, /Cannot fork|Resource temporarily unavailable/)
})

test('what a sandbox without cgroups writes to its /tmp is memory', async () => {
  const sandbox = [
    'bwrap',
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--tmpfs',
    '/tmp',
    '--unshare-pid',
    '--die-with-parent',
  ]
  const script = 'head -c 200000000 /dev/zero > /tmp/file; sleep 60'
  const ending = await run(watchdog, [...sandbox, 'sh', '-c', script], { limits: { memoryBytes: 100 * MB } })
  assert.deepEqual(ending.excess, ['memory'])
})

test('a process cannot open more files than it may', async () => {
  const script = `const fs = require('node:fs'); let count = 0
    try { for (;; count++) fs.openSync('/dev/null') } catch (error) { console.log(error.code, count) }`
  const { output } = await run(best, [process.execPath, '-e', script], { limits: { openFiles: 100 } })
  const [code, count] = output.trim().split(' ')
  assert.equal(code, 'EMFILE')
  assert.ok(Number(count) > 50 && Number(count) < 100, output)
})

test('a file does not grow beyond what it may', async (t) => {
  const cwd = await temporaryFolder(t)
  const { code, signal } = await run(best, ['dd', 'if=/dev/zero', 'of=file', 'bs=1M', 'count=5'], {
    limits: { fileBytes: MB },
    cwd,
  })
  assert.ok(code !== 0 || signal)
  assert.ok((await stat(join(cwd, 'file'))).size <= MB)
})

test('a job that fills the disk is ended soon', async (t) => {
  const cwd = await temporaryFolder(t)
  const script = 'i=0; while [ $i -lt 200 ]; do head -c 10000000 /dev/zero > $i; i=$((i+1)); done; sleep 60'
  const ending = await run(best, ['sh', '-c', script], { limits: { diskBytes: 100 * MB }, folders: [cwd], cwd })
  assert.deepEqual(ending.excess, ['disk'])
  const written = (await readdir(cwd)).length * 10 * MB
  t.diagnostic(`${written / MB} MB were written`)
  assert.ok(written < 1000 * MB, `${written} bytes were written`)
})

test('a file without a name is found, too', async (t) => {
  const cwd = await temporaryFolder(t)
  const script = 'exec 3> file; rm file; head -c 300000000 /dev/zero >&3; sleep 60'
  const ending = await run(best, ['sh', '-c', script], { limits: { diskBytes: 100 * MB }, folders: [cwd], cwd })
  assert.deepEqual(ending.excess, ['disk'])
})

test('a job that writes less than it may is left alone', async (t) => {
  const cwd = await temporaryFolder(t)
  const ending = await run(best, ['sh', '-c', 'head -c 50000000 /dev/zero > file; sleep 0.6'], {
    limits: { diskBytes: 100 * MB },
    folders: [cwd],
    cwd,
  })
  assert.deepEqual([ending.excess, ending.code], [[], 0])
})

test('files that the kernel merely keeps in memory are no reason to end a job', { skip: needsCgroups }, async (t) => {
  const cwd = await temporaryFolder(t)
  const script = 'head -c 300000000 /dev/zero > file && cat file > /dev/null && sleep 0.6'
  const { excess, code, peakMemoryBytes } = await run(best, ['sh', '-c', script], {
    limits: { memoryBytes: 100 * MB },
    cwd,
  })
  assert.deepEqual([excess, code], [[], 0])
  assert.ok(peakMemoryBytes && peakMemoryBytes < 50 * MB, `${peakMemoryBytes} bytes at most`)
})

test('the exit code of a program passes through the cgroup wrapper, and a cgroup that cannot be entered is 125', async () => {
  assert.equal((await run(best, ['sh', '-c', 'exit 7'])).code, 7)
  const cgroup = watchdog.cgroup('test', WIDE_LIMITS)
  const [file = '', ...args] = cgroup.around(['true'])
  // The cgroup files come before the dashes.
  args.splice(args.indexOf('--'), 0, '/nowhere/cgroup.procs')
  const failed = spawn(file, args, { env: {}, stdio: 'ignore' })
  assert.deepEqual(await once(failed, 'exit'), [125, null])
  await cgroup.leave()
})

test('no shell interprets the arguments of a program', async () => {
  const { output } = await run(best, ['printf', '%s|', '$(id)', '`id`', '--', "'; id", '-c', ''])
  assert.equal(output, "$(id)|`id`|--|'; id|-c||")
})

test('the CPU weight is written', { skip: best.kind !== 'cgroup1' && 'for version 1' }, async () => {
  const { child, ended } = start(best, ['sleep', '60'], { limits: { cpuWeight: 50 } })
  await untilRuns(child, 'sleep')
  const group = /^\d+:[^:]*\bcpu\b[^:]*:(.*)$/m.exec(await readFile(`/proc/${child.pid}/cgroup`, 'utf8'))?.[1]
  const mount = /^\S+ \S+ \S+ \S+ (\S+) .* - cgroup \S+ \S*\bcpu(,|$)/m.exec(
    await readFile('/proc/self/mountinfo', 'utf8'),
  )?.[1]
  assert.equal(await readFile(`${mount}${group}/cpu.shares`, 'utf8'), '512\n')
  child.kill('SIGKILL')
  await ended
})

test('without cgroups, a small weight is a low priority', async () => {
  const { output } = await run(watchdog, ['nice'], { limits: { cpuWeight: 50 } })
  assert.equal(Number(output), Math.min(getPriority() + 3, 19))
})

test('a process that left its parent and session does not outlive the cgroup', { skip: needsCgroups }, async () => {
  const script = 'setsid sh -c "sleep 60 > /dev/null 2>&1 & echo \\$!" & wait; sleep 0.1'
  const { output } = await run(best, ['sh', '-c', script])
  assert.equal(isAlive(Number(output)), false)
})

test('nothing is left of a cgroup', { skip: needsCgroups }, async () => {
  await run(best, ['true'])
  assert.deepEqual(await groupsLeft(), [])
})

/** Resolves once the process is in its cgroup and has started the program itself. */
const untilRuns = ({ pid }: ChildProcess, program: string) =>
  until(async () => (await readFile(`/proc/${pid}/comm`, 'utf8')) === `${program}\n`)

/** A service that makes a cgroup, starts a process in it, and is killed. */
async function deadService(command: string[], name = NAME): Promise<number> {
  const script = `
    const { openLimiter } = await import(${JSON.stringify(new URL('../../src/engines/limits/index.ts', import.meta.url).href)})
    const { spawn } = await import('node:child_process')
    const { readFileSync } = await import('node:fs')
    const limiter = await openLimiter({ name: ${JSON.stringify(name)} })
    const [file, ...args] = limiter.cgroup('left', ${JSON.stringify(WIDE_LIMITS)}).around(${JSON.stringify(command)})
    const child = spawn(file, args, { env: { PATH: '/usr/bin:/bin' }, detached: true, stdio: 'ignore' })
    const comm = () => { try { return readFileSync('/proc/' + child.pid + '/comm', 'utf8').trim() } catch { return '' } }
    const looking = setInterval(() => {
      if (child.exitCode === null && comm() !== ${JSON.stringify(command[0])}) return
      clearInterval(looking)
      console.log(child.pid)
    }, 5)
    setTimeout(() => {}, 60e3)`
  const service = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [chunk] = await once(service.stdout, 'data')
  service.kill('SIGKILL')
  await once(service, 'exit')
  return Number(chunk)
}

test('a sweep removes the cgroup of a service that died', { skip: needsCgroups }, async () => {
  await deadService(['true'])
  assert.equal(await best.sweep(), 1)
  assert.deepEqual(await groupsLeft(), [])
})

test('a sweep leaves processes alone, unless it should end them', { skip: needsCgroups }, async () => {
  const pid = await deadService(['sleep', '60'])
  assert.equal(await best.sweep(), 0)
  assert.ok(isAlive(pid))
  assert.equal(await best.sweep({ endProcesses: true }), 1)
  assert.equal(isAlive(pid), false)
  assert.deepEqual(await groupsLeft(), [])
})

test('a sweep removes what another dead service left behind, and ends none of its processes', {
  skip: needsCgroups,
}, async () => {
  const [gone, staying] = [`${NAME}gone`, `${NAME}staying`]
  await deadService(['true'], gone)
  const pid = await deadService(['sleep', '60'], staying)
  await best.sweep({ endProcesses: true })
  assert.deepEqual(await groupsLeft(gone), [])
  assert.ok(isAlive(pid))
  assert.notDeepEqual(await groupsLeft(staying), [])
  process.kill(pid, 'SIGKILL')
  await (await openLimiter({ name: staying })).sweep({ endProcesses: true })
  assert.deepEqual(await groupsLeft(staying), [])
})

test('a sweep touches no cgroup that is in use', { skip: needsCgroups }, async () => {
  const { child, ended } = start(best, ['sleep', '60'])
  await untilRuns(child, 'sleep')
  assert.equal(await best.sweep({ endProcesses: true }), 0)
  assert.equal(child.exitCode, null)
  child.kill('SIGKILL')
  assert.deepEqual((await ended).excess, [])
})
