import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appWith, planOf } from '../../../test/support/plan.ts'
import { foreignPresets } from './presets.ts'

const nuxt = (scripts: unknown = {}) => planOf(appWith({ nuxt: '^4.5.0' }, scripts, { 'nuxt.config.ts': '' }))

test('a variable that names the preset of another host is found', async () => {
  const variables = { NITRO_PRESET: 'vercel', SERVER_PRESET: 'cloudflare_pages', OTHER: 'vercel' }
  assert.deepEqual(foreignPresets(await nuxt(), variables), ['NITRO_PRESET', 'SERVER_PRESET'])
})

test('a preset that leaves what the plan expects is left to the tenant', async () => {
  for (const preset of ['node_cluster', 'heroku', ' node-server ', ''])
    assert.deepEqual(foreignPresets(await nuxt(), { NITRO_PRESET: preset }), [])
  const generated = await nuxt({ build: 'nuxt generate' })
  assert.deepEqual(foreignPresets(generated, { NITRO_PRESET: 'github_pages' }), [])
  assert.deepEqual(foreignPresets(generated, { NITRO_PRESET: 'netlify' }), ['NITRO_PRESET'])
})

test('an app that starts a server of its own, or is built by something else, keeps the variable', async () => {
  assert.deepEqual(foreignPresets(await nuxt({ start: 'bun run.ts' }), { NITRO_PRESET: 'bun' }), [])
  const express = await planOf(appWith(['express'], { start: 'node server.js' }, { 'server.js': '' }))
  assert.deepEqual(foreignPresets(express, { NITRO_PRESET: 'vercel' }), [])
})
