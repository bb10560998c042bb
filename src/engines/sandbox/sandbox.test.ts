import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { limiter, testSandbox } from '../../../test/support/machine/engine.ts'
import { until } from '../../../test/support/until.ts'
import { type Job, type Output, type Process, runToEnd } from '../engine.ts'
import { endOrphans, SANDBOX_VARIABLE, sandboxIdOf } from '../orphans.ts'
import { descendantsOf } from '../process.ts'
import { removeScratch } from './overlay.ts'
import { openSandbox } from './sandbox.ts'

const engine = await testSandbox()

const isRoot = process.getuid?.() === 0
const user = isRoot ? { uid: 210_001, gid: 210_001 } : undefined

async function job(t: TestContext, script: string, more: Partial<Job> = {}): Promise<{ job: Job; folder: string }> {
  const folder = join(await temporaryFolder(t), 'work')
  await mkdir(folder)
  if (user) await chown(folder, user.uid, user.gid)
  const mounts = [{ from: folder, to: '/app', isWritable: true }]
  const environment = { PATH: '/usr/bin:/bin' }
  return { folder, job: { argv: ['sh', '-c', script], cwd: '/app', environment, mounts, user, ...more } }
}

async function output(t: TestContext, script: string, more: Partial<Job> = {}) {
  const { job: made } = await job(t, script, more)
  let [text, stdout] = ['', '']
  const collect: Output = (stream, chunk) => {
    text += chunk
    if (stream === 'stdout') stdout += chunk
  }
  const exit = await runToEnd(engine, made, collect, new AbortController().signal)
  return { ...exit, text, stdout }
}

test('a program sees its folder, an empty /tmp, a read-only system and nothing of the service', async (t) => {
  const { text } = await output(t, 'pwd; ls -A /tmp /home /root /etc/shadow /var 2>&1; touch /usr/x 2>&1; ls /')
  assert.match(text, /^\/app\n/)
  assert.match(text, /'\/etc\/shadow': No such file/)
  assert.match(text, /'\/root': No such file/)
  assert.match(text, /'\/usr\/x': Read-only file system/)
  assert.doesNotMatch(text, /^(data|var|srv|mnt|work)$/m)
})

const STATUS = 'id -u; id -G; grep -E "^(Cap|NoNewPrivs)" /proc/self/status'

test('a program has no capability in any set, can gain none, and is the user it was given', async (t) => {
  const { text } = await output(t, STATUS)
  if (user) assert.match(text, new RegExp(`^${user.uid}\n${user.gid}\n`))
  assert.match(text, /CapInh:\s0{16}\nCapPrm:\s0{16}\nCapEff:\s0{16}\nCapBnd:\s0{16}\nCapAmb:\s0{16}\nNoNewPrivs:\s1/)
})

test('no process of a sandbox is root, not even the first', { skip: !isRoot }, async (t) => {
  const { text } = await output(t, 'cat /proc/[0-9]*/status | grep -E "^(Uid|Gid|Cap)"')
  const ids = [...text.matchAll(/^[UG]id:\t(.*)$/gm)].flatMap(([, each = '']) => each.split('\t'))
  assert.ok(ids.length >= 24, text)
  assert.deepEqual(new Set(ids), new Set([String(user?.uid)]))
  assert.doesNotMatch(text, /^Cap\w+:\t0*[1-9a-f]/m)
})

test('where users cannot make namespaces, root drops all privileges at once', {
  skip: !isRoot,
}, async (t) => {
  const byRoot = await openSandbox({ bubblewrap: '/usr/bin/bwrap', folder: tmpdir(), limiter, identity: 1 })
  assert.ok('start' in byRoot)
  assert.match(byRoot.description, /started by root/)
  const { job: made } = await job(t, `${STATUS}; ls /proc/1/root /proc/1/fd 2>&1`)
  let text = ''
  await runToEnd(byRoot, made, (_stream, chunk) => (text += chunk), new AbortController().signal)
  assert.match(text, new RegExp(`^${user?.uid}\n${user?.gid}\n`))
  assert.match(text, /CapInh:\s0{16}\nCapPrm:\s0{16}\nCapEff:\s0{16}\nCapBnd:\s0{16}\nCapAmb:\s0{16}\nNoNewPrivs:\s1/)
  assert.match(text, /\/proc\/1\/root.*Permission denied/)
})

const OPEN = `
  const { openLimiter } = await import(process.argv[1] + '/../index.ts')
  const { openSandbox } = await import(process.argv[1] + '/sandbox.ts')
  const limiter = await openLimiter({ name: 'unit' + process.pid })
  const engine = await openSandbox({ bubblewrap: '/usr/bin/bwrap', folder: process.argv[2], limiter })
  console.log(engine.missing ?? engine.description, engine.overlayMissing ?? '')
`

test('with what the unit for systemd leaves to the service, a sandbox is still made by the tenant’s user', {
  skip: !isRoot,
}, async (t) => {
  const unit = await readFile(new URL('../../../docs/operate/headland.service', import.meta.url), 'utf8')
  const left = [...unit.matchAll(/CAP_(\w+)/g)].map(([, name = '']) => `+${name.toLowerCase()}`)
  assert.ok(left.length > 5 && /^NoNewPrivileges=yes$/m.test(unit) && /^ProtectKernelLogs=yes$/m.test(unit))
  const bounds = ['setpriv', '--no-new-privs', `--bounding-set=-all,${left}`]
  const node = [process.execPath, '--no-warnings', '--input-type=module', '-e', OPEN, import.meta.dirname]
  const { stdout } = await promisify(execFile)('unshare', [
    ...['--mount', 'sh', '-c', 'mount --bind /dev/null /proc/kmsg && exec "$@"', 'sh'],
    ...[...bounds, ...node, await temporaryFolder(t)],
  ])
  assert.equal(stdout.trim(), 'bubblewrap, a user for each environment')
})

test('nothing can be added to the folders between the mounts, whichever user owns them', async (t) => {
  const { text } = await output(
    t,
    'for to in / /etc /etc/ssl /headland /dev /usr; do touch $to/x 2>&1; chmod 777 $to 2>&1; done; touch /tmp/x /dev/shm/x && echo those',
  )
  assert.equal(text.match(/Read-only file system|Operation not permitted|Permission denied/g)?.length ?? 0, 12, text)
  assert.match(text, /those\n$/)
})

test('of /etc a program sees what resolving names and certificates takes, and no private key', async (t) => {
  const { text } = await output(
    t,
    'ls /etc /etc/ssl; ls /etc/pki /etc/pki/tls 2>/dev/null; ls /etc/ssl/private /etc/pki/tls/private 2>&1',
  )
  const names = text.split('\n').filter((line) => line !== '' && !line.endsWith(':') && !/No such file/.test(line))
  const known =
    /^(resolv\.conf|hosts|nsswitch\.conf|localtime|alternatives|ld\.so\.cache|ssl|certs|openssl\.cnf|cert\.pem|ca-bundle\.pem|ca-certificates|pki|ca-trust|tls)$/
  for (const name of names) assert.match(name, known)
  assert.equal(text.match(/No such file/g)?.length, 2, text)
})

test('a program sees no process but its own', async (t) => {
  const { text } = await output(t, 'ls /proc | grep -E "^[0-9]+$" | wc -l')
  assert.ok(Number(text) < 8, text)
})

test('the environment is the given one with what a login shell sets, and nothing of the service', async (t) => {
  const environment = { PATH: '/usr/bin:/bin', GREETING: 'a "b" $c\n\'d\'', LD_PRELOAD: '/app/evil.so' }
  const { stdout } = await output(t, 'env -0 2>/dev/null | tr "\\n\\0" "|\\n" | grep -vE "^(PWD|OLDPWD|SHLVL|_)="', {
    environment,
  })
  assert.deepEqual(stdout.trim().split('\n').toSorted(), [
    `GREETING=a "b" $c|'d'`,
    'LANG=C.UTF-8',
    'LD_PRELOAD=/app/evil.so',
    'LOGNAME=app',
    'PATH=/usr/bin:/bin',
    'SHELL=/bin/sh',
    'TERM=dumb',
    'USER=app',
  ])
})

test('a value of the environment is in no argument list of the machine', async (t) => {
  const { job: made } = await job(t, 'sleep 60', { environment: { PATH: '/usr/bin:/bin', KEY: 'value-to-be-hidden' } })
  const running = await engine.start(made, () => undefined)
  t.after(() => running.stop(0))
  while (descendantsOf(running.pid).length < 3) await new Promise((resolve) => setImmediate(resolve))
  for (const pid of [running.pid, ...descendantsOf(running.pid)]) {
    assert.doesNotMatch(await readFile(`/proc/${pid}/cmdline`, 'utf8'), /value-to-be-hidden/)
  }
})

test('neither arguments nor mounts nor environment of a sandbox reveal paths of the service', async (t) => {
  const { layers, at, part, top } = await layersOf(t)
  const changes = { folder: await part('changes'), scratch: await part('scratch') }
  const script =
    'cat /proc/1/cmdline /proc/2/cmdline /proc/*/environ 2>/dev/null | tr "\\0" "\\n"; echo == mounts; cat /proc/self/mountinfo'
  const { text } = await output(t, script, {
    overlays: [{ at, layers, changes }],
    mounts: [{ from: at, to: '/app', isWritable: true }],
  })
  await removeScratch(changes.scratch)
  const [commandLine = '', mounts = ''] = text.split('\n== mounts\n')
  assert.match(commandLine, /--bind\n\/sys\/\d+\n\/app\n/)
  assert.ok(!commandLine.includes(top) && !commandLine.includes(import.meta.dirname), commandLine)
  // An overlay is described by the stage's names for its layers.
  assert.match(mounts, / \/app rw.* - overlay overlay rw,lowerdir=\d+:\d+,upperdir=\d+,workdir=\d+/)
  assert.ok(!mounts.includes(top), mounts)
})

test('where a folder or file is mounted as it is, the kernel shows its own path and no other', async (t) => {
  const neighbour = await temporaryFolder(t)
  const { job: made, folder } = await job(t, 'cat /proc/self/mountinfo')
  let text = ''
  await runToEnd(engine, made, (_stream, chunk) => (text += chunk), new AbortController().signal)
  const roots = text
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([, , , root, to]) => `${root} ${to}`)
  const [ofFolder] = roots.filter((line) => line.endsWith(' /app'))
  assert.ok(ofFolder && folder.endsWith(ofFolder.slice(0, -' /app'.length)), ofFolder)
  assert.ok(!text.includes(neighbour))
  for (const line of roots.filter((each) => /headland-test-/.test(each))) assert.equal(line, ofFolder)
})

test('a sandbox is recognized from outside as one of its own service only', async (t) => {
  const { job: made } = await job(t, 'echo up; sleep 60')
  const started = Promise.withResolvers<void>()
  const running = await engine.start(made, () => started.resolve())
  t.after(() => running.stop(0))
  await started.promise
  const [first] = descendantsOf(running.pid)
  for (const pid of [running.pid, first]) {
    assert.ok(
      (await readFile(`/proc/${pid}/environ`, 'utf8'))
        .split('\0')
        .includes(`${SANDBOX_VARIABLE}=${sandboxIdOf(tmpdir())}`),
    )
  }
  assert.equal(endOrphans(`${tmpdir()}/another`), 0)
})

const START_AND_DIE = `
  const { openLimiter } = await import(process.argv[1] + '/../index.ts')
  const { openSandbox } = await import(process.argv[1] + '/sandbox.ts')
  const limiter = await openLimiter({ name: 'dies' + process.pid })
  const engine = await openSandbox({ bubblewrap: '/usr/bin/bwrap', folder: process.argv[2], limiter })
  const user = { uid: 210_002, gid: 210_002 }
  await engine.start({ argv: ['sleep', process.argv[4]], cwd: '/', environment: { PATH: '/usr/bin' }, mounts: [], user }, () => {})
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(process.argv[3]))
`

test('a service that is killed while it makes a sandbox leaves no program, and its next start ends the rest', {
  skip: !isRoot,
}, async (t) => {
  // Found by its arguments, among those of all runs of the tests.
  const seconds = `611.${process.pid}`
  for (const afterMs of [0, 10, 30, 60, 150]) {
    const folder = await temporaryFolder(t)
    const args = [
      '--no-warnings',
      '--input-type=module',
      '-e',
      START_AND_DIE,
      import.meta.dirname,
      folder,
      `${afterMs}`,
      seconds,
    ]
    await assert.rejects(promisify(execFile)(process.execPath, args), { signal: 'SIGKILL' })
    await until(async () => !(await textsOf('cmdline')).includes(['sleep', seconds, ''].join('\0')))
    // A bubblewrap process may be left that waits for its other half, which died with the service.
    await until(async () => {
      endOrphans(folder)
      return !(await textsOf('environ')).some((text) => text.includes(sandboxIdOf(folder)))
    })
  }
})

/** The files of each process in /proc. */
async function textsOf(file: 'cmdline' | 'environ'): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')))
}

test('what it writes to its folder stays and belongs to its user; a read-only mount stays as it is', async (t) => {
  const { job: made, folder } = await job(t, 'echo made > made; echo changed > /fixed/file; cat /fixed/file')
  const fixed = await temporaryFolder(t)
  await chmod(fixed, 0o755)
  await writeFile(join(fixed, 'file'), 'as it was')
  const mounts = [...made.mounts, { from: fixed, to: '/fixed', isWritable: false }]
  let text = ''
  await runToEnd(engine, { ...made, mounts }, (_s, chunk) => (text += chunk), new AbortController().signal)
  assert.equal(await readFile(join(folder, 'made'), 'utf8'), 'made\n')
  assert.equal(await readFile(join(fixed, 'file'), 'utf8'), 'as it was')
  assert.match(text, /Read-only file system[\s\S]*as it was$/)
})

test('the exit code is passed on, and a program that does not exist is 127 with its name', async (t) => {
  assert.equal((await output(t, 'exit 7')).code, 7)
  const missing = await output(t, '', { argv: ['no-such-program'] })
  assert.deepEqual([missing.code, missing.text], [127, 'no-such-program: not found\n'])
})

const STUBBORN = `trap '' TERM; (trap '' TERM; setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &) ; while :; do sleep 1; done`

/** Resolves once the tree has at least so many processes, and gives their ids. */
const treeOf = (running: Process, size: number): Promise<number[]> =>
  until(() => {
    const pids = descendantsOf(running.pid)
    return pids.length >= size && pids
  })

/** Killed processes are reaped a moment later, by the process that inherited them. */
const allGone = (pids: number[]) => until(() => !pids.some(isAlive), 'no process is left of the tree')

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a stop ends the whole tree: children that ignore SIGTERM and daemons in a session of their own', async (t) => {
  const { job: made } = await job(t, STUBBORN)
  const running = await engine.start(made, () => undefined)
  const pids = await treeOf(running, 5)
  await running.stop(50)
  await allGone(pids)
})

test('a stop lets a server behind a shell end in its own time', async (t) => {
  const server = `process.on('SIGTERM', () => setTimeout(() => { fs.writeFileSync('ended', 'bye'); process.exit() }, 100))
    setInterval(() => {}, 1000); console.log('up')`
  const { job: made, folder } = await job(t, '', { argv: ['sh', '-c', '/headland/node -e "$0"; exit 0', server] })
  const started = Promise.withResolvers<void>()
  const running = await engine.start(made, () => started.resolve())
  await started.promise
  await running.stop(10_000)
  assert.equal(await readFile(join(folder, 'ended'), 'utf8'), 'bye')
})

test('an abort ends the whole tree of a program that was to run to its end', async (t) => {
  const { job: made } = await job(t, STUBBORN)
  const cancelling = new AbortController()
  const started = Promise.withResolvers<void>()
  const argv = ['sh', '-c', `echo up; ${STUBBORN}`]
  const ended = runToEnd(engine, { ...made, argv }, () => started.resolve(), cancelling.signal)
  await started.promise
  cancelling.abort()
  assert.equal((await ended).code, null)
})

async function layersOf(t: TestContext) {
  const top = await temporaryFolder(t)
  const part = async (name: string, files: Record<string, string> = {}) => {
    const folder = join(top, name)
    await mkdir(folder)
    for (const [file, content] of Object.entries(files)) await writeFile(join(folder, file), content)
    if (user) await chown(folder, user.uid, user.gid)
    return folder
  }
  const layers = [await part('upper', { both: 'upper' }), await part('lower', { both: 'lower', lower: 'lower' })]
  const at = await part('at')
  return { top, layers, at, part }
}

test('layers are seen as one folder, the top one first', async (t) => {
  assert.equal(engine.overlayMissing, undefined)
  const { layers, at } = await layersOf(t)
  const { text } = await output(t, 'cat both lower; touch new 2>&1', {
    overlays: [{ at, layers }],
    mounts: [{ from: at, to: '/app', isWritable: false }],
  })
  assert.match(text, /^upperlower.*Read-only file system\n$/)
})

test('changes of an overlay go to their own folder, and no layer is changed', async (t) => {
  const { layers, at, part } = await layersOf(t)
  const changes = { folder: await part('changes'), scratch: await part('scratch') }
  const { code } = await output(t, 'rm lower && echo new > made', {
    overlays: [{ at, layers, changes }],
    mounts: [{ from: at, to: '/app', isWritable: true }],
  })
  await removeScratch(changes.scratch)
  assert.equal(code, 0)
  assert.equal(await readFile(join(changes.folder, 'made'), 'utf8'), 'new\n')
  assert.equal(await readFile(join(layers[1] ?? '', 'lower'), 'utf8'), 'lower')
  await assert.rejects(readFile(join(at, 'made')), 'the overlay is seen by the job alone')
})
