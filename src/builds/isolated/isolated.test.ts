import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { rounds } from '../../../test/support/long.ts'
import { sourceOf } from '../../../test/support/plan.ts'
import { LimitExceeded, runIsolated } from './isolated.ts'
import { diagnosePhase, planSource } from './on-demand.ts'

const platform = { os: 'linux', cpu: 'arm64', libc: 'glibc' } as const

test('work that takes more memory than it may is ended, and the service goes on', async (t) => {
  const path = join(await temporaryFolder(t), 'lockfile')
  await writeFile(path, `[${'[],'.repeat(2_000_000)}0]`)
  await using file = await open(path)
  const work = runIsolated('lockfile', { platform }, { file, limits: { heapMegabytes: 20 } })
  await assert.rejects(work, (error: LimitExceeded) => error instanceof LimitExceeded && error.what === 'memory')
})

test('work that takes longer than it may is ended', async () => {
  const answers = { files: () => new Promise(() => undefined) }
  const work = runIsolated('plan', { rootDirectory: '' }, { answers, limits: { ms: 1000 } })
  await assert.rejects(work, (error: LimitExceeded) => error instanceof LimitExceeded && error.what === 'time')
})

test('the compile cache of one task is used by the next', async (t) => {
  const kept = await temporaryFolder(t)
  const keptAfter = async (program: string) => {
    const argv = [
      '--input-type=module',
      '--eval',
      `import { planSource } from '${import.meta.resolve('./on-demand.ts')}'\n${program}`,
    ]
    await promisify(execFile)(process.execPath, argv, { env: { NODE_COMPILE_CACHE: kept } })
    return (await readdir(kept, { recursive: true })).length
  }
  const before = await keptAfter('')
  const after = await keptAfter(`
    const read = async () => '{"scripts":{"start":"node a.js"}}'
    await planSource({ files: ['package.json'], read, head: read }, '', 'ours')`)
  assert.ok(after > before + 10, `${before}, ${after}`)
})

test('an app is planned in an isolated process, whatever the number of its files', async () => {
  const app = { 'package.json': { scripts: { start: 'node a.js' } }, 'apps/a/package.json': {} }
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`file-${at}`, '']))
  const plan = await planSource(sourceOf({ ...app, ...many }), '', 'ours')
  assert.deepEqual(plan.output.kind === 'server' && plan.output.start.argv, ['node', 'a.js'])
})

test('a problem of an app is the same as without an isolated process', async () => {
  await assert.rejects(planSource(sourceOf({ 'package.json': '{' }), '', 'ours'), {
    name: 'Problem',
    reason: 'PLAN_FAILED',
    message: /^package\.json is not well-formed JSON/,
  })
  await assert.rejects(
    planSource({ ...sourceOf({ 'package.json': '{' }), read: broken }, '', 'ours'),
    /the disk is gone/,
  )
})

const broken = () => Promise.reject(new Error('the disk is gone'))

test('a log of many long lines is diagnosed in an isolated process', async () => {
  const lines = Array.from({ length: rounds({ short: 400, long: 8000 }) }, (_, at) => ({
    number: at + 1,
    text: 'Error: '.repeat(2000),
  }))
  const exit = { code: 1, signal: null }
  const failure = {
    phase: 'BUILDING',
    argv: ['npm', 'run', 'build'],
    exit,
    lines,
    packageManager: 'npm',
    lockfile: null,
    missing: [],
    cmsHosts: [],
    names: {},
  } as const
  assert.equal((await diagnosePhase(failure)).reason, 'BUILD_SCRIPT_FAILED')
})
