/**
 * Whatever a tenant leaves in its tree, nothing of it reaches the paths where the sandbox has files of the service.
 * Checked against the kernel's own view of a running sandbox, with made-up trees: links at every level, loops,
 * whiteouts, files in the place of folders, and folders in the place of files.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { chmod, lstat, mkdir, mkdtemp, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { removeTree } from '../../src/base/index.ts'
import { type Engine, type Job, openLimiter, type Process } from '../../src/engines/index.ts'
import { descendantsOf } from '../../src/engines/process.ts'
import { openSandbox } from '../../src/engines/sandbox/sandbox.ts'
import { startInstance } from '../../src/runtime/instance.ts'
import { createLineLogs } from '../../src/storage/index.ts'
import { holds } from '../support/fuzz.ts'
import { LIMITS } from '../support/machine/engine.ts'
import { until } from '../support/until.ts'

const isRoot = process.getuid?.() === 0
const skip = isRoot ? false : 'devices and owners of files need root'
const USER = { uid: 210_021, gid: 210_021 }
const limiter = await openLimiter({ name: `mounts${process.pid}` })

const folder = await mkdtemp(join(tmpdir(), 'headland-mounts-'))
// As strict as a data folder may be: the tenant's user cannot traverse it.
await chmod(folder, 0o700)
after(() => removeTree(folder))

const [tool, resolver] = [join(folder, 'tool'), join(folder, 'resolv.conf')]
await mkdir(tool)
await writeFile(join(tool, 'npm'), 'ours')
await writeFile(resolver, '# ours\n')

/** The paths of the service in the sandbox, and the file of this machine that each must show. */
const OURS: Record<string, string | undefined> = {
  '/headland/node': process.execPath,
  '/headland/bin/npm': join(tool, 'npm'),
  '/etc/resolv.conf': resolver,
  '/etc/hosts': '/etc/hosts',
  '/usr/bin/env': '/usr/bin/env',
  '/usr/bin/setpriv': '/usr/bin/setpriv',
  '/etc/ssl/certs': '/etc/ssl/certs',
  '/dev/null': '/dev/null',
  // Made for the sandbox, and not part of this machine.
  '/': undefined,
  '/headland': undefined,
  '/headland/launch.mjs': undefined,
  '/etc': undefined,
  '/proc': undefined,
  '/tmp': undefined,
}

type LayerEntry =
  | { kind: 'folder' | 'file' | 'whiteout'; path: string }
  | { kind: 'link'; path: string; target: string }
type Tree = { layers: LayerEntry[][]; writable: string[]; cwd: string }

const NAMES = ['.next', 'cache', 'trap', 'headland', 'node', 'a b', '-P']
const TARGETS = [
  ...[
    '.',
    '..',
    '/',
    'cache',
    'trap',
    '../app/trap',
    '../../headland',
    '../headland',
    '../../../headland',
    '/headland',
  ],
  ...[
    '/headland/bin',
    '/usr',
    '/usr/bin',
    '/etc',
    '/etc/ssl/certs',
    '/proc',
    '/proc/self/root',
    '/proc/self/cwd',
    '/dev',
  ],
  ...['/tmp', '/app', '/app/.next', '/app/.next/cache', '/app/trap/cache', '../sys/0', '/sys', folder, 'nowhere'],
]
const aPath = fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 }).map((steps) => steps.join('/'))
const anEntry: fc.Arbitrary<LayerEntry> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('folder', 'file', 'whiteout'), path: aPath }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('link' as const), path: aPath, target: fc.constantFrom(...TARGETS) }),
  },
) as fc.Arbitrary<LayerEntry>
const somePaths = fc.array(fc.array(anEntry, { maxLength: 12 }), { minLength: 1, maxLength: 3 })
/** Folders that should be writable mostly exist in one of the layers, or something else is in their place. */
const aTree: fc.Arbitrary<Tree> = fc
  .record({
    layers: somePaths,
    picks: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
    other: aPath,
    cwd: fc.oneof({ weight: 5, arbitrary: fc.constant('') }, aPath),
  })
  .map(({ layers, picks, other, cwd }) => {
    const there = layers
      .flat()
      .flatMap(({ path }) => path.split('/').map((_, index, steps) => steps.slice(0, index + 1).join('/')))
    return { layers, cwd, writable: picks.map((pick) => there[pick % there.length] ?? other) }
  })

/** An attack that worked once: the mount for the cache landed on /headland, and root ran `node`. */
const THE_ATTACK: Tree = {
  layers: [
    [
      { kind: 'link', path: '.next', target: '../app/trap' },
      { kind: 'link', path: 'trap/cache', target: '../../headland' },
    ],
    [
      { kind: 'file', path: '.next/cache/node' },
      { kind: 'file', path: '.next/cache/launch.mjs' },
    ],
  ],
  writable: ['.next/cache'],
  cwd: '',
}

for (const [index, name] of ['by the tenant’s user', 'by root'].entries()) {
  test(`no path of the service in a sandbox that is made ${name} leads to a file of a tenant, whatever its tree contains`, {
    skip,
  }, async () => {
    const engine = await openSandbox({ bubblewrap: '/usr/bin/bwrap', folder: tmpdir(), limiter, identity: index })
    assert.ok('start' in engine)
    await showsNothing(engine, THE_ATTACK)
    await holds(
      fc.asyncProperty(aTree, (tree) => showsNothing(engine, tree)),
      25,
    )
  })
}

/** Starts an app with that tree, and reads its mounts from the kernel. */
async function showsNothing(engine: Engine, tree: Tree) {
  const place = await mkdtemp(join(folder, 'case-'))
  let running: Process | undefined
  try {
    await withJob(place, tree, async (job) => {
      running = await engine.start(job, () => undefined)
      const pid = await untilIn(running)
      if (pid !== undefined) await lookAt(pid, running.pid)
    })
  } catch (error) {
    // The kernel lists a whiteout that covers nothing, but cannot open it: such a tree cannot be copied, and the app is
    // not started.
    if (!/could not be made: cp: cannot stat/.test((error as Error).message)) throw error
  } finally {
    await running?.stop(0)
    await removeTree(place)
  }
}

/** The job that an instance is started with, by the code that really makes it. */
async function withJob(place: string, { layers, writable, cwd }: Tree, use: (job: Job) => Promise<void>) {
  const made = await Promise.all(layers.map((entries, index) => makeLayer(join(place, `layer-${index}`), entries)))
  const mounts = [{ from: tool, to: '/headland/bin', isWritable: false }]
  const network = {
    around: (command: readonly string[]) => [...command],
    mounts: [{ from: resolver, to: '/etc/resolv.conf', isWritable: false }],
  }
  const caught = Promise.withResolvers<Job>()
  const catching = {
    isIsolating: true,
    async start(job: Job) {
      caught.resolve(job)
      throw new Error('caught')
    },
  }
  const log = await createLineLogs(join(place, 'logs')).create('app', {
    secrets: [],
    whenFull: 'rotate',
    maxBytes: 1e6,
  })
  const spec = {
    ...{
      owner: { account: 'account', environment: 'environment' },
      deployment: 'x',
      build: 'x',
      layers: made,
      runFolder: join(place, 'run'),
      argv: ['sleep', '600'],
      cwd,
      binaries: [],
      writable,
    },
    ...{ variables: {}, user: USER, hostHeader: 'x', limits: LIMITS, log },
    openToolchain: async () => ({ node: process.versions.node, mounts, path: '/usr/bin', environment: {} }),
  }
  try {
    await startInstance(
      { engine: catching as never, networks: undefined },
      spec,
      1,
      new AbortController().signal,
    ).catch((error) => assert.equal(error.message, 'caught'))
    await use({ ...(await caught.promise), network })
  } finally {
    await log.close()
  }
}

async function makeLayer(top: string, entries: readonly LayerEntry[]): Promise<string> {
  await mkdir(top)
  for (const entry of entries) {
    const at = join(top, entry.path)
    // If the path already exists, the first entry stays: nothing is created through a link.
    if (!(await isFree(top, entry.path))) continue
    await mkdir(dirname(at), { recursive: true })
    if (entry.kind === 'folder') await mkdir(at)
    else if (entry.kind === 'file') await writeFile(at, '#!/bin/sh\nid -u > /tmp/who\n', { mode: 0o755 })
    else if (entry.kind === 'link') await symlink(entry.target, at)
    else await promisify(execFile)('mknod', [at, 'c', '0', '0'])
  }
  // Links themselves, and not what they lead to.
  await promisify(execFile)('chown', ['-hRP', `${USER.uid}:${USER.gid}`, top])
  return top
}

async function isFree(top: string, path: string): Promise<boolean> {
  const steps = path.split('/')
  for (let count = 1; count <= steps.length; count++) {
    const found = await lstat(join(top, ...steps.slice(0, count))).catch(() => undefined)
    if (!found) return true
    if (!found.isDirectory()) return false
  }
  return false
}

/** The pid of the program, once it runs; undefined if its working folder is not a folder, so that it never started. */
async function untilIn(running: Process): Promise<number | undefined> {
  let isOver = false
  void running.exited.then(() => {
    isOver = true
  })
  const found = await until(async () => {
    if (isOver) return 'over'
    for (const pid of descendantsOf(running.pid)) {
      if ((await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')) === 'sleep\n') return pid
    }
    return undefined
  })
  if (found !== 'over') return found
  const { code } = await running.exited
  assert.equal(code, 127, 'it ends only if there is no folder to start in')
  return undefined
}

type Seen = { id: number; root: string; at: string; options: string[] }

async function lookAt(pid: number, monitor: number) {
  const mounts = mountsOf(await readFile(`/proc/${pid}/mountinfo`, 'utf8'))
  const tenants = new Set(mounts.filter(({ at }) => at === '/app' || at.startsWith('/app/')).map(({ id }) => id))
  for (const [path, source] of Object.entries(OURS)) {
    const { mount, inode } = await kernelOn(pid, path, mounts)
    assert.ok(!tenants.has(mount.id), `${path} is in ${mount.at}`)
    if (path !== '/tmp' && path !== '/dev/null') assert.ok(mount.options.includes('ro'), `${path} can be written`)
    if (source !== undefined) assert.equal(inode, await inodeOf(source), path)
  }
  assert.equal(
    await readFile(join(`/proc/${pid}/root`, 'headland/launch.mjs'), 'utf8'),
    await readFile(new URL('../../src/engines/launch.mjs', import.meta.url), 'utf8'),
  )
  // And conversely: every writable mount is a folder of the app's own run, mounted inside the app's folder and nowhere
  // else.
  for (const { at, root, options } of mounts) {
    if (!root.startsWith(`${folder}/`)) continue
    if (options.includes('rw')) assert.ok(at.startsWith('/app/') && root.includes('/run/own/'), `${root} is at ${at}`)
    else assert.ok(at === '/app' || at.startsWith('/headland/') || at === '/etc/resolv.conf', `${root} is at ${at}`)
  }
  for (const member of [pid, ...descendantsOf(monitor)]) {
    const status = await readFile(`/proc/${member}/status`, 'utf8').catch(() => '')
    if (member === pid) assert.match(status, new RegExp(`^Uid:\t${USER.uid}\t${USER.uid}\t${USER.uid}\t`, 'm'))
    assert.doesNotMatch(status, /^Cap(Prm|Eff|Inh|Amb):\t0*[1-9a-f]/m)
  }
}

/** A line: id, parent, device, root, place, options, optional fields, a dash, type, source, options of the file system. */
const mountsOf = (text: string): Seen[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [id, , , root = '', at = '', options = ''] = line.split(' ')
      return { id: Number(id), root, at, options: options.split(',') }
    })

/**
 * The mount of a path, and the identity of the file. The path is walked step by step from the program's root, so no
 * link is followed.
 */
async function kernelOn(pid: number, path: string, mounts: readonly Seen[]) {
  const { O_PATH, O_NOFOLLOW } = { O_PATH: 0o10000000, O_NOFOLLOW: constants.O_NOFOLLOW }
  let at = openSync(`/proc/${pid}/root`, O_PATH)
  try {
    for (const step of path.split('/').filter(Boolean)) {
      const next = openSync(`/proc/self/fd/${at}/${step}`, O_PATH | O_NOFOLLOW)
      closeSync(at)
      at = next
    }
    const id = Number(/^mnt_id:\t(\d+)$/m.exec(await readFile(`/proc/self/fdinfo/${at}`, 'utf8'))?.[1])
    const mount = mounts.find((each) => each.id === id)
    assert.ok(mount, `${path} is in a mount of the sandbox`)
    return { mount, inode: await inodeOf(`/proc/self/fd/${at}`) }
  } finally {
    closeSync(at)
  }
}

async function inodeOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path)
  return `${dev}:${ino}`
}
