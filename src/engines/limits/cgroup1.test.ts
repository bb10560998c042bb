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
const ALL = new Map(['memory', 'pids', 'cpu', 'cpuacct'].map((controller) => [controller, hierarchy(controller)]))

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
  assert.equal(groups?.description, 'cgroup v1 (memory); the service watches processes itself')
  assert.deepEqual(groups?.make('job', LIMITS).enforces, { memory: true, processes: false, cpu: false })
})

test('controllers that share a hierarchy share the group', () => {
  const shared = new Map(['memory', 'pids'].map((controller) => [controller, hierarchy('all')]))
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
