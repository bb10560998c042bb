import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Mount } from '../engine.ts'
import { withoutMounts } from '../plain.ts'
import { sandboxArguments } from './command.ts'

const system = {
  folders: ['/usr'],
  links: [{ path: '/bin', target: 'usr/bin' }],
  etc: ['/etc/hosts', '/etc/resolv.conf'],
  masks: [],
  isFiltered: false,
}
const ours = [{ from: '/opt/node', to: '/headland/node', isWritable: false }]
const mounts = [
  { from: '/srv/shop', to: '/app', isWritable: true },
  { from: '/srv/npm', to: '/headland/lib/npm', isWritable: false },
]

const argumentsFor = (given: readonly Mount[]) => sandboxArguments({ mounts: given, ours, identity: [] }, system)
const at = (...places: string[]) => places.map((to) => ({ from: '/srv/x', to, isWritable: true }))

test('every mount has its source, its place and its right', () => {
  const args = argumentsFor(mounts).join(' ')
  assert.match(args, /--bind \/srv\/shop \/app/)
  assert.match(args, /--perms 0755 --dir \/headland\/lib --ro-bind \/srv\/npm \/headland\/lib\/npm/)
})

test("the service's own files are mounted last, and a job's file replaces one of the machine", () => {
  const args = argumentsFor([...mounts, { from: '/srv/resolv.conf', to: '/etc/resolv.conf', isWritable: false }])
  assert.ok(args.lastIndexOf('/srv/resolv.conf') < args.indexOf('/usr'))
  assert.ok(
    args.indexOf('/opt/node') > Math.max(args.lastIndexOf('/app'), args.lastIndexOf('/proc'), args.lastIndexOf('/tmp')),
  )
  assert.equal(args.filter((arg) => arg === '/etc/resolv.conf').length, 1)
})

test('no mount lies in another, in anything of ours, or at a place that can be read in two ways', () => {
  for (const places of [
    ['/app', '/app/.next/cache'],
    ['/app', '/app'],
    ['/headland'],
    ['/headland/node'],
    ['/headland/node/x'],
    ['/usr/bin'],
    ['/bin/x'],
    ['/etc'],
    ['/proc/self'],
    ['/dev/shm'],
    ['/tmp/x'],
  ])
    assert.throws(() => argumentsFor(at(...places)), /would be mounted in/, places.join(' '))
  for (const place of ['app', '/app/../usr', '/app/', '//app', '/./app', '/', ''])
    assert.throws(() => argumentsFor(at(place)), /must be an absolute path/, place)
  assert.ok(argumentsFor(at('/app', '/app-2', '/cache')))
})

test('without a sandbox, paths of mounts become those of the machine, and a tenant value stays as it is', () => {
  const environment = { PATH: '/headland/lib/npm/bin:/usr/bin', BASE: '/app' }
  const job = {
    argv: ['/app/run', 'x'],
    cwd: '/app/sub',
    environment,
    mounts,
    user: undefined,
  }
  const outside = withoutMounts(job)
  assert.deepEqual(
    [outside.argv, outside.cwd, outside.environment],
    [['/srv/shop/run', 'x'], '/srv/shop/sub', { PATH: '/srv/npm/bin:/usr/bin', BASE: '/app' }],
  )
})
