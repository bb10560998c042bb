import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openHooks } from './hooks.ts'

test('the files are there for every user, where the plan asks for them and the app has not switched them off', async (t) => {
  const runFolder = await mkdtemp(join(tmpdir(), 'headland hooks-'))
  t.after(() => rm(runFolder, { recursive: true }))
  const umask = process.umask(0o077)
  t.after(() => process.umask(umask))
  for (const variables of [{}, { HEADLAND_NEXT_COHERENCE: 'off' }] as Record<string, string>[])
    assert.deepEqual(await openHooks({ variables, runFolder, isIsolating: true }), { mounts: [], options: [] })
  const variables = { HEADLAND_NEXT_COHERENCE: 'on' }
  const from = join(runFolder, 'hooks', 'next')
  assert.deepEqual(await openHooks({ variables, runFolder, isIsolating: true }), {
    mounts: [{ from, to: '/headland/hooks/next', isWritable: false }],
    options: ['--require="/headland/hooks/next/coherence.cjs"'],
  })
  for (const name of await readdir(from)) assert.equal((await stat(join(from, name))).mode & 0o777, 0o644)
  assert.equal((await stat(from)).mode & 0o777, 0o755)
})
