import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { Problem, type Reason } from '../../contract/index.ts'
import { mayBeCausedByCaches, reasonToRetry } from './retry.ts'

const ROOT = { rootDirectory: 'apps/web', install: null }
const about = (reason: Reason, metadata: Record<string, string> = {}) => new Problem(reason, 'no', { metadata })

for (const reason of [
  'TYPE_ERROR',
  'LINT_ERROR',
  'SYNTAX_ERROR',
  'COMMAND_NOT_FOUND',
  'CMS_UNREACHABLE',
  'DOWNLOAD_FAILED',
] as const)
  test(`${reason} is not tried again without caches`, async () => {
    assert.equal(await mayBeCausedByCaches(about(reason), { source: '/nowhere' }, ROOT), false)
  })

for (const reason of ['BUILD_SCRIPT_FAILED', 'CHECKSUM_MISMATCH', 'NATIVE_PACKAGE_MISSING', 'NO_OUTPUT'] as const)
  test(`${reason} is tried again without caches`, async () => {
    assert.equal(await mayBeCausedByCaches(about(reason), { source: '/nowhere' }, ROOT), true)
  })

test('a failure that is none of a build is not tried again', async () => {
  assert.equal(await mayBeCausedByCaches(about('INTERNAL'), { source: '/nowhere' }, ROOT), false)
})

test('a module that was not found is tried again only where package.json asks for it', async (t) => {
  const source = await temporaryFolder(t)
  await mkdir(join(source, 'apps/web'), { recursive: true })
  const manifest = { dependencies: { next: '16', '@acme/ui': '1' }, devDependencies: { sass: '1' } }
  await writeFile(join(source, 'apps/web/package.json'), JSON.stringify(manifest))
  await writeFile(join(source, 'package.json'), JSON.stringify({ devDependencies: { turbo: '2' } }))
  const asked = (module: string, plan = ROOT) =>
    mayBeCausedByCaches(about('MODULE_NOT_FOUND', { module }), { source }, plan)
  for (const module of ['next/font', '@acme/ui/button', 'sass']) assert.equal(await asked(module), true, module)
  for (const module of [
    './Header',
    '../x',
    '@/lib/a',
    '@components/Header',
    '~/a',
    '#lib',
    '/app/a.js',
    'left-pad',
    'toString',
    '',
  ])
    assert.equal(await asked(module), false, module)
  const install = { argv: ['npm', 'ci'], folder: '', inputs: null }
  assert.equal(await asked('turbo/x'), false)
  assert.equal(
    await mayBeCausedByCaches(about('MODULE_NOT_FOUND', { module: 'turbo/x' }), { source }, { ...ROOT, install }),
    true,
  )
})

test('a second attempt says what of earlier builds was in the first', () => {
  assert.equal(reasonToRetry([{ cache: 'packages', state: 'MISS', bytes: 0 }]), undefined)
  assert.match(
    reasonToRetry([
      { cache: 'packages', state: 'HIT', bytes: 1 },
      { cache: 'store', state: 'DROPPED', bytes: 0 },
      { cache: 'compile', state: 'HIT', bytes: 1 },
    ]) ?? '',
    /because it used installed packages and compiler caches of earlier builds\.$/,
  )
})
