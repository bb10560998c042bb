/** Version 2 against a simulated kernel, with its rules for delegation of controllers, and its refusals. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path/posix'
import { test } from 'node:test'
import { groupAt, isBeingEntered, openCgroup2 } from './cgroup2.ts'
import { enter } from './enter.ts'
import { type Files, kernelFiles } from './files.ts'
import { readHierarchies } from './hierarchies.ts'
import type { Limits } from './index.ts'
import type { Relation } from './processes.ts'

const LIMITS: Limits = {
  memoryBytes: 1_000_000_000,
  processes: 200,
  cpuWeight: 50,
  openFiles: 1000,
  fileBytes: 1_000_000,
  diskBytes: null,
  diskFiles: null,
}

type FakeGroup = { processes: Set<number>; handsOn: Set<string>; files: Map<string, string> }

const FILES_OF: Record<string, Record<string, string>> = {
  memory: {
    'memory.max': 'max',
    'memory.swap.max': 'max',
    'memory.oom.group': '0',
    'memory.peak': '4096',
    'memory.events': 'low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0',
    'memory.stat': 'anon 1000\nfile 99999\nshmem 24',
  },
  pids: { 'pids.max': 'max', 'pids.events': 'max 0' },
  cpu: { 'cpu.weight': '100' },
}

function refusal(code: string): Error {
  return Object.assign(new Error(code), { code })
}

class FakeKernel implements Files {
  readonly groups = new Map<string, FakeGroup>()
  /** Groups that the service's user may change, with all below; everything by default. */
  mayChange: (path: string) => boolean = () => true
  refuses: (file: string) => string | undefined = () => undefined
  readonly isContainer: boolean

  constructor(handedOn: string[], options: { isContainer?: boolean } = {}) {
    this.isContainer = options.isContainer === true
    this.groups.set('/cg', { processes: new Set(), handsOn: new Set(handedOn), files: new Map() })
  }

  add(path: string, { processes = [], handsOn = [] }: { processes?: number[]; handsOn?: string[] } = {}) {
    this.groups.set(path, { processes: new Set(processes), handsOn: new Set(handsOn), files: new Map() })
    return this
  }

  groupOf(pid: number): string | undefined {
    return [...this.groups].find(([, group]) => group.processes.has(pid))?.[0]
  }

  private controllers(path: string): string[] {
    return path === '/cg' ? ['cpuset', 'cpu', 'io', 'memory', 'pids'] : [...this.at(dirname(path)).handsOn]
  }

  private at(path: string): FakeGroup {
    const group = this.groups.get(path)
    if (!group) throw refusal('ENOENT')
    return group
  }

  private isFree(path: string): boolean {
    return path === '/cg' && !this.isContainer
  }

  read(file: string): string | undefined {
    const [path, name] = [dirname(file), file.slice(dirname(file).length + 1)]
    const group = this.groups.get(path)
    if (!group) return undefined
    if (name === 'cgroup.controllers') return `${this.controllers(path).join(' ')}\n`
    if (name === 'cgroup.subtree_control') return `${[...group.handsOn].join(' ')}\n`
    if (name === 'cgroup.procs') return [...group.processes].map((pid) => `${pid}\n`).join('')
    if (name === 'cgroup.events') return `populated ${group.processes.size > 0 ? 1 : 0}\nfrozen 0\n`
    const known = this.controllers(path)
      .map((controller) => FILES_OF[controller]?.[name])
      .find((value) => value !== undefined)
    return known === undefined ? undefined : `${group.files.get(name) ?? known}\n`
  }

  write(file: string, text: string) {
    const [path, name] = [dirname(file), file.slice(dirname(file).length + 1)]
    const group = this.at(path)
    if (!this.mayChange(path)) throw refusal('EACCES')
    const refused = this.refuses(file)
    if (refused) throw refusal(refused)
    if (name === 'cgroup.subtree_control') {
      const wanted = text.split(' ').map((word) => word.slice(1))
      if (wanted.some((controller) => !this.controllers(path).includes(controller))) throw refusal('ENOENT')
      if (group.processes.size > 0 && !this.isFree(path)) throw refusal('EBUSY')
      for (const controller of wanted) group.handsOn.add(controller)
    } else if (name === 'cgroup.procs') {
      if (group.handsOn.size > 0 && !this.isFree(path)) throw refusal('EBUSY')
      const from = this.groupOf(Number(text))
      if (from === undefined) throw refusal('ESRCH')
      this.at(from).processes.delete(Number(text))
      group.processes.add(Number(text))
    } else if (name === 'cgroup.kill') {
      group.processes.clear()
    } else {
      if (this.read(file) === undefined) throw refusal('ENOENT')
      group.files.set(name, text)
    }
  }

  make(path: string) {
    if (this.groups.has(path)) return
    this.at(dirname(path))
    if (!this.mayChange(dirname(path))) throw refusal('EACCES')
    this.add(path)
  }

  remove(path: string): boolean {
    if (this.list(path).length > 0 || (this.groups.get(path)?.processes.size ?? 0) > 0) return false
    this.groups.delete(path)
    return true
  }

  list(path: string): string[] {
    return [...this.groups.keys()]
      .filter((each) => each !== path && dirname(each) === path)
      .map((each) => each.slice(path.length + 1))
  }
}

const [SERVICE, ABOVE, STRANGER] = [1000, 999, 500]
const relationOf = (pid: number): Relation => (pid === SERVICE ? 'itself' : pid === ABOVE ? 'above' : 'stranger')

const ALL = ['cpu', 'memory', 'pids']
const UNIT = '/cg/system.slice/headland.service'

const systemd = (processes: number[]) =>
  new FakeKernel(ALL).add('/cg/system.slice', { handsOn: ['memory', 'pids'] }).add(UNIT, { processes })

const open = (kernel: FakeKernel, own: string, isDelegated = true) =>
  openCgroup2({ mount: '/cg', own, isDelegated }, 'abc', kernel, relationOf)

test('in a unit of its own, the service moves to a leaf and cgroups are made beside it', () => {
  const kernel = systemd([ABOVE, SERVICE])
  const groups = open(kernel, UNIT)
  const group = groups?.make('job', LIMITS)
  assert.deepEqual([kernel.groupOf(SERVICE), kernel.groupOf(ABOVE)], [`${UNIT}/service`, `${UNIT}/service`])
  assert.deepEqual(group?.procsFiles, [`${UNIT}/headland-abc/job/cgroup.procs`])
})

test('every limit is written to the group of the job', () => {
  const kernel = systemd([SERVICE])
  kernel.groups.get('/cg/system.slice')?.handsOn.add('cpu')
  const groups = open(kernel, UNIT)
  const group = groups?.make('job', LIMITS)
  assert.deepEqual(Object.fromEntries(kernel.groups.get(`${UNIT}/headland-abc/job`)?.files ?? []), {
    'memory.max': '1000000000',
    'memory.swap.max': '0',
    'memory.oom.group': '1',
    'pids.max': '200',
    'cpu.weight': '50',
  })
  assert.equal(groups?.description, 'cgroup v2 (memory, pids, cpu)')
  assert.deepEqual(group?.enforces, { memory: true, processes: true, cpu: true })
})

test('where the processor is not delegated, the description says so, and the rest is limited', () => {
  const groups = open(systemd([SERVICE]), UNIT)
  assert.equal(groups?.description, 'cgroup v2 (memory, pids)')
  assert.equal(groups?.make('job', LIMITS).enforces.cpu, false)
})

test('a unit that was not delegated is left as it is, and cgroups are made in the slice above', () => {
  const kernel = systemd([SERVICE])
  const group = open(kernel, UNIT, false)?.make('job', LIMITS)
  assert.equal(kernel.groupOf(SERVICE), UNIT)
  assert.deepEqual(group?.procsFiles, ['/cg/system.slice/headland-abc/job/cgroup.procs'])
})

test('a service that is in its leaf already stays there', () => {
  const kernel = systemd([]).add(`${UNIT}/service`, { processes: [SERVICE] })
  const group = open(kernel, `${UNIT}/service`)?.make('job', LIMITS)
  assert.equal(kernel.groupOf(SERVICE), `${UNIT}/service`)
  assert.deepEqual(group?.procsFiles, [`${UNIT}/headland-abc/job/cgroup.procs`])
})

test('the shell that the service was started from is not moved: cgroups are made in a group above', () => {
  const scope = '/cg/user.slice/session-1.scope'
  const kernel = new FakeKernel(ALL)
    .add('/cg/user.slice', { handsOn: ['memory', 'pids'] })
    .add(scope, { processes: [ABOVE, SERVICE] })
  const group = open(kernel, scope)?.make('job', LIMITS)
  assert.deepEqual([kernel.groupOf(SERVICE), kernel.groupOf(ABOVE)], [scope, scope])
  assert.deepEqual(group?.procsFiles, ['/cg/user.slice/headland-abc/job/cgroup.procs'])
})

test('in a container with nothing else in it, everything moves to the leaf', () => {
  const kernel = new FakeKernel([], { isContainer: true })
  for (const pid of [ABOVE, SERVICE]) kernel.groups.get('/cg')?.processes.add(pid)
  assert.equal(open(kernel, '/cg')?.kind, 'cgroup2')
  assert.equal(kernel.groupOf(ABOVE), '/cg/service')
})

test('in a container what others started there moves too: a health check, a command of the operator', () => {
  const kernel = new FakeKernel([], { isContainer: true })
  for (const pid of [ABOVE, SERVICE, STRANGER]) kernel.groups.get('/cg')?.processes.add(pid)
  assert.equal(open(kernel, '/cg')?.kind, 'cgroup2')
  assert.equal(kernel.groupOf(STRANGER), '/cg/service')
})

test('what is on its way into a container cannot be moved: nothing is, until it has arrived', () => {
  const kernel = new FakeKernel([], { isContainer: true })
  const group = { mount: '/cg', own: '/cg' }
  for (const pid of [SERVICE, 0]) kernel.groups.get('/cg')?.processes.add(pid)
  assert.equal(isBeingEntered(group, kernel), true)
  assert.equal(open(kernel, '/cg'), undefined)
  assert.deepEqual([...kernel.groups.keys()], ['/cg'])
  assert.equal(kernel.groupOf(SERVICE), '/cg')

  kernel.groups.get('/cg')?.processes.delete(0)
  kernel.groups.get('/cg')?.processes.add(STRANGER)
  assert.equal(isBeingEntered(group, kernel), false)
  assert.equal(open(kernel, '/cg')?.kind, 'cgroup2')
})

test('when controllers are refused after the move, all processes are moved back', () => {
  const kernel = systemd([SERVICE])
  kernel.mayChange = (path) => path.startsWith(UNIT)
  kernel.refuses = (file) => (file === `${UNIT}/cgroup.subtree_control` ? 'EBUSY' : undefined)
  assert.equal(open(kernel, UNIT), undefined)
  assert.equal(kernel.groupOf(SERVICE), UNIT)
  assert.deepEqual(kernel.list(UNIT), [])
})

test('at the top of a machine nothing has to move', () => {
  const kernel = new FakeKernel([])
  for (const pid of [SERVICE, STRANGER]) kernel.groups.get('/cg')?.processes.add(pid)
  const group = open(kernel, '/cg')?.make('job', LIMITS)
  assert.equal(kernel.groupOf(SERVICE), '/cg')
  assert.deepEqual(group?.procsFiles, ['/cg/headland-abc/job/cgroup.procs'])
})

test('where nothing can be written there are no cgroups', () => {
  const kernel = systemd([SERVICE])
  kernel.mayChange = () => false
  assert.equal(open(kernel, UNIT), undefined)
})

test('where memory is not delegated and nothing may be changed above, there are no cgroups', () => {
  const kernel = new FakeKernel(['cpu']).add('/cg/a.service', { processes: [SERVICE] })
  kernel.mayChange = (path) => path.startsWith('/cg/a.service')
  assert.equal(open(kernel, '/cg/a.service'), undefined)
})

test("the kernel's counters show which limit was reached", () => {
  const kernel = systemd([SERVICE])
  const group = open(kernel, UNIT)?.make('job', LIMITS)
  assert.deepEqual(group?.reached(), [])
  const files = kernel.groups.get(`${UNIT}/headland-abc/job`)?.files
  files?.set('memory.events', 'low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 1')
  assert.deepEqual(group?.reached(), ['memory'])
  files?.set('pids.events', 'max 3')
  assert.deepEqual(group?.reached(), ['memory', 'processes'])
})

test('memory is that of processes and files in memory, without files on disk', () => {
  const group = open(systemd([SERVICE]), UNIT)?.make('job', LIMITS)
  assert.deepEqual([group?.memoryBytes(), group?.peakMemoryBytes()], [1024, 4096])
})

test('a cgroup with processes is not removed; once they are killed it is, together with its parent', () => {
  const kernel = systemd([SERVICE])
  const group = open(kernel, UNIT)?.make('job', LIMITS)
  kernel.groups.get(`${UNIT}/headland-abc/job`)?.processes.add(2000)
  assert.deepEqual([group?.remove(), group?.processes()], [false, [2000]])
  group?.end()
  assert.equal(group?.remove(), true)
  assert.deepEqual(kernel.list(UNIT), ['service'])
})

test('a cgroup whose limit is refused is an error, and nothing is left of it', () => {
  const kernel = systemd([SERVICE])
  const groups = open(kernel, UNIT)
  kernel.refuses = (file) => (file.endsWith('memory.max') ? 'EINVAL' : undefined)
  assert.throws(() => groups?.make('job', LIMITS), /EINVAL/)
  assert.deepEqual(kernel.list(UNIT), ['service'])
})

const unified = readHierarchies('/sys/fs/cgroup').unified
const trial = `${unified?.own}/headland-try${process.pid}`
const skip = mayMake() ? false : 'no group of version 2 can be made here'

function mayMake(): boolean {
  try {
    kernelFiles.make(trial)
    return kernelFiles.remove(trial)
  } catch {
    return false
  }
}

test('a real cgroup of version 2 is entered, counts its time, and is killed at once', { skip }, async () => {
  const folder = `${trial}/job`
  for (const each of [trial, folder]) kernelFiles.make(each)
  const group = groupAt(folder, trial, kernelFiles)
  const script = 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo done; (sleep 60 &); sleep 60'
  const way = { procsFiles: group.procsFiles, limits: LIMITS, userProcesses: undefined, niceness: 0 }
  const [file = '', ...args] = enter(way, ['/bin/sh', '-c', script])
  const child = spawn(file, args, { env: { PATH: '/usr/bin:/bin' }, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  assert.ok(group.processes().includes(child.pid as number))
  assert.ok((group.cpuSeconds() ?? 0) > 0)
  group.end()
  await once(child, 'close')
  while (!group.remove()) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal(kernelFiles.read(`${trial}/cgroup.procs`), undefined)
})
