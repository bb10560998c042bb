import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseHierarchies } from './hierarchies.ts'

const MOUNTS_1 = `33 25 0:30 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
34 33 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 master:3 - cgroup cgroup rw,cpu,cpuacct
37 33 0:34 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
43 33 0:40 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
44 33 0:41 / /elsewhere/pids rw,relatime - cgroup cgroup rw,pids
`
const OWN_1 = '8:pids:/a\n4:memory:/system.slice/headland.service\n2:cpu,cpuacct:/\n0::/\n'

test('version 1: each controller is found in its hierarchy, and the group of the service in that', () => {
  const { controllers } = parseHierarchies('/sys/fs/cgroup', OWN_1, MOUNTS_1)
  const [cpu, mount] = ['/sys/fs/cgroup/cpu,cpuacct', '/sys/fs/cgroup/memory']
  assert.deepEqual(controllers.get('memory'), { mount, own: `${mount}/system.slice/headland.service` })
  assert.deepEqual(controllers.get('cpu'), { mount: cpu, own: cpu })
  assert.deepEqual(controllers.get('cpuacct'), { mount: cpu, own: cpu })
})

test('what is mounted elsewhere is not looked at', () => {
  assert.equal(parseHierarchies('/sys/fs/cgroup', OWN_1, MOUNTS_1).controllers.has('pids'), false)
})

test('version 2: there is one hierarchy, and a group with colons in its name is no trouble', () => {
  const mounts = '30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n'
  const { unified, controllers } = parseHierarchies('/sys/fs/cgroup', '0::/a.slice/b:c.service\n', mounts)
  assert.deepEqual(unified, { mount: '/sys/fs/cgroup', own: '/sys/fs/cgroup/a.slice/b:c.service' })
  assert.equal(controllers.size, 0)
})

test('in a container the mount shows a group below the top', () => {
  const mounts = '37 33 0:34 /docker/12 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n'
  const of = (path: string) =>
    parseHierarchies('/sys/fs/cgroup', `4:memory:${path}\n`, mounts).controllers.get('memory')?.own
  assert.equal(of('/docker/12'), '/sys/fs/cgroup/memory')
  assert.equal(of('/docker/12/deep'), '/sys/fs/cgroup/memory/deep')
  assert.equal(of('/docker/123'), '/sys/fs/cgroup/memory')
  assert.equal(of('/../other'), '/sys/fs/cgroup/memory')
})

test('where there is no cgroup nothing is found', () => {
  assert.deepEqual(parseHierarchies('/sys/fs/cgroup', '', ''), { unified: undefined, controllers: new Map() })
})
