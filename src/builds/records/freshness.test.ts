import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appWith, planOf } from '../../../test/support/plan.ts'
import { freshnessOf } from './freshness.ts'

test('what brings new content to visitors depends on what keeps it', async () => {
  const dependsOn = (name: string, files = {}) => planOf(appWith([name], { build: 'x' }, files))
  const next = await dependsOn('next')
  assert.equal(freshnessOf(next, {}).purge, 'PAGES')
  assert.equal(freshnessOf(next, { HEADLAND_NEXT_COHERENCE: 'off' }).purge, 'EDGE')
  assert.match(freshnessOf(next, { HEADLAND_NEXT_COHERENCE: 'off' }).advice, /^Rebuild /)
  const exported = await dependsOn('next', { 'next.config.js': "module.exports = { output: 'export' }" })
  assert.equal(freshnessOf(exported, {}).purge, 'NOTHING')
  assert.equal(freshnessOf(await dependsOn('nuxt'), {}).purge, 'EDGE')
  assert.equal(freshnessOf(await planOf({ 'index.html': '' }), {}).purge, 'NOTHING')
})
