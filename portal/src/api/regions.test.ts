import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areRegionsShown, likelyRegion, regionName } from './regions.ts'
import type { App } from './types.ts'

const REGIONS = [
  { name: 'regions/US-C', displayName: 'US Central' },
  { name: 'regions/EU-W', displayName: 'Europe West' },
]
const app = (region: string, day: number) => ({ region, createTime: `2026-01-0${day}T00:00:00Z` }) as App

test('a region is shown where apps are in more than one', () => {
  assert.equal(areRegionsShown(undefined), false)
  assert.equal(areRegionsShown([app('regions/EU-W', 1), app('regions/EU-W', 2)]), false)
  assert.equal(areRegionsShown([app('regions/EU-W', 1), app('regions/UK', 2)]), true)
  assert.equal(regionName(REGIONS, 'regions/EU-W'), 'Europe West')
})

test('the next app is likely to be where the newest one is', () => {
  assert.equal(likelyRegion(REGIONS, [app('regions/US-C', 1), app('regions/EU-W', 2)]), 'regions/EU-W')
  assert.equal(likelyRegion(REGIONS, []), 'regions/US-C')
  assert.equal(likelyRegion(REGIONS, [app('regions/GONE', 1)]), 'regions/US-C')
  assert.equal(likelyRegion(undefined, undefined), '')
})
