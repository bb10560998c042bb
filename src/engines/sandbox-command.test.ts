import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutMounts } from './plain.ts'
import { sandboxArguments } from './sandbox-command.ts'

const system = {
  folders: ['/usr'],
  links: [{ path: '/bin', target: 'usr/bin' }],
  etc: ['/etc/hosts'],
  isRoot: true,
  user: undefined,
  masks: [],
  isFiltered: false,
}
const launcher = { node: '/opt/node', script: '/opt/launch.mjs' }
const mounts = [
  { from: '/srv/shop', to: '/app', isWritable: true },
  { from: '/srv/npm', to: '/headland/lib/npm', isWritable: false },
]

test('every mount has its source, its place and its right', () => {
  const args = sandboxArguments({ mounts, cwd: '/app' }, system, launcher).join(' ')
  assert.match(args, /--bind \/srv\/shop \/app/)
  assert.match(args, /--perms 0755 --dir \/headland\/lib --ro-bind \/srv\/npm \/headland\/lib\/npm/)
})

test('root keeps two capabilities for the launcher and takes no user namespace; others the other way round', () => {
  const root = sandboxArguments({ mounts, cwd: '/app' }, system, launcher)
  assert.deepEqual(
    root.filter((arg) => arg.startsWith('CAP_')),
    ['CAP_SETUID', 'CAP_SETGID'],
  )
  const plain = sandboxArguments({ mounts, cwd: '/app' }, { ...system, isRoot: false }, launcher)
  assert.ok(plain.includes('--disable-userns') && !plain.some((arg) => arg.startsWith('CAP_')))
})

test('without a sandbox, paths of mounts become those of the machine, and a tenant value stays as it is', () => {
  const environment = { PATH: '/headland/lib/npm/bin:/usr/bin', BASE: '/app' }
  const job = {
    argv: ['/app/run', 'x'],
    cwd: '/app/sub',
    environment,
    mounts,
    user: undefined,
    masks: [],
    isFiltered: false,
  }
  const outside = withoutMounts(job)
  assert.deepEqual(
    [outside.argv, outside.cwd, outside.environment],
    [['/srv/shop/run', 'x'], '/srv/shop/sub', { PATH: '/srv/npm/bin:/usr/bin', BASE: '/app' }],
  )
})
