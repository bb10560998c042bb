/** Version 1 where only some controllers are available; with all of them, see test/modules/limits.test.ts. */
import assert from 'node:assert/strict'
import { dirname } from 'node:path/posix'
import { test } from 'node:test'
import { openCgroup1 } from './cgroup1.ts'
import type { Files } from './files.ts'
import type { Limits } from './index.ts'

const LIMITS: Limits = {
  memoryBytes: 1_000_000,
  processes: 200,
  cpuWeight: 50,
  openFiles: 1000,
  fileBytes: 1_000_000,
  diskBytes: null,
  diskFiles: null,
}

/** Folders that take every file; only those below the given ones may be made. */
function kernel(writable: string[]) {
  const [folders, written] = [new Set<string>(), new Map<string, string>()]
  const files: Files = {
    read: (file) => written.get(file),
    write: (file, text) => void written.set(file, text),
    make(folder) {
      if (![...writable, ...folders].includes(dirname(folder))) throw Object.assign(new Error(), { code: 'EACCES' })
      folders.add(folder)
    },
    remove: (folder) => folders.delete(folder),
    list: () => [],
  }
  return { files, written, folders }
}

const hierarchy = (controller: string) => ({ mount: `/cg/${controller}`, own: `/cg/${controller}/own` })
const only = (...controllers: string[]) => ({
  unified: undefined,
  controllers: new Map(controllers.map((controller) => [controller, hierarchy(controller)])),
})
const ALL = only('memory', 'pids', 'cpu', 'cpuacct')

test("the cgroup of a job is below the service's own, or at the top where that is not possible", () => {
  const { files } = kernel(['/cg/memory/own', '/cg/memory', '/cg/pids'])
  const group = openCgroup1(ALL, 'abc', files)?.make('job', LIMITS)
  assert.deepEqual(group?.procsFiles, [
    '/cg/memory/own/headland-abc/job/cgroup.procs',
    '/cg/pids/headland-abc/job/cgroup.procs',
  ])
})

test('what cannot be limited is named, and is to be watched', () => {
  const { files } = kernel(['/cg/memory/own'])
  const groups = openCgroup1(ALL, 'abc', files)
  assert.equal(groups?.description, 'cgroup v1 (memory); the service watches processes itself; nothing can be frozen')
  assert.deepEqual(groups?.make('job', LIMITS).enforces, { memory: true, processes: false, cpu: false })
})

test('controllers that share a hierarchy share the group', () => {
  const shared = { ...ALL, controllers: new Map(['memory', 'pids'].map((name) => [name, hierarchy('all')])) }
  const { files, written } = kernel(['/cg/all/own'])
  const group = openCgroup1(shared, 'abc', files)?.make('job', LIMITS)
  assert.deepEqual(group?.procsFiles, ['/cg/all/own/headland-abc/job/cgroup.procs'])
  assert.equal(written.get('/cg/all/own/headland-abc/job/memory.limit_in_bytes'), '1000000')
  assert.equal(written.get('/cg/all/own/headland-abc/job/pids.max'), '200')
})

test('with the processor alone there are no cgroups, and nothing is left of the trial', () => {
  const { files, folders } = kernel(['/cg/cpu'])
  assert.equal(openCgroup1(ALL, 'abc', files), undefined)
  assert.deepEqual([...folders], [])
})

test('jobs are frozen in the hierarchy of version 2 where there is one, as they can be killed there meanwhile', () => {
  const { files, written } = kernel(['/cg/memory/own', '/cg/freezer/own', '/cg/unified/own'])
  const given = only('memory', 'freezer')
  written.set('/cg/unified/own/headland-abc/job/cgroup.freeze', '0')
  const group = openCgroup1({ ...given, unified: hierarchy('unified') }, 'abc', files)?.make('job', LIMITS)
  assert.ok(group?.procsFiles.includes('/cg/unified/own/headland-abc/job/cgroup.procs'))
  assert.equal(group?.freezer()?.freeze(), true)
  assert.equal(written.get('/cg/unified/own/headland-abc/job/cgroup.freeze'), '1')
  group?.freezer()?.thaw()
  assert.equal(written.get('/cg/unified/own/headland-abc/job/cgroup.freeze'), '0')
})

test('without it they are frozen by the controller of version 1, and thawed when they are to end', () => {
  const { files, written } = kernel(['/cg/memory/own', '/cg/freezer/own'])
  const group = openCgroup1(only('memory', 'freezer'), 'abc', files)?.make('job', LIMITS)
  const state = '/cg/freezer/own/headland-abc/job/freezer.state'
  written.set(state, 'THAWED')
  assert.equal(group?.freezer()?.freeze(), true)
  assert.equal(written.get(state), 'FROZEN')
  group?.end()
  assert.equal(written.get(state), 'THAWED')
})

test('where there is neither, nothing can be frozen', () => {
  const { files } = kernel(['/cg/memory/own'])
  assert.equal(openCgroup1(only('memory', 'freezer'), 'abc', files)?.make('job', LIMITS).freezer(), undefined)
})
