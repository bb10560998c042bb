import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog, systemClock } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import type { SwarmNode } from './docker/types.ts'
import { createRegions } from './regions.ts'

function regionsOf(...given: (string[] | Error)[]) {
  const answers = [...given]
  const docker = {
    async nodes() {
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      if (answer instanceof Error) throw answer
      return (answer ?? []).map((region) => ({ Spec: { Labels: region ? { region } : {} } }) as SwarmNode)
    },
  }
  return createRegions({ clock: systemClock, log: createLog('silent'), docker })
}

test('a region that a node has is admitted', async () => {
  await regionsOf(['EU-W', '']).require('EU-W')
})

test('a region without a node is refused, with those that exist', async () => {
  await assert.rejects(regionsOf(['EU-W', 'AUS-SE', 'EU-W', '']).require('UK'), (error: Problem) => {
    assert.ok(error instanceof Problem)
    assert.equal(error.reason, 'REGION_UNAVAILABLE')
    assert.match(error.message, /the region UK\. There are nodes in: AUS-SE, EU-W\./)
    assert.deepEqual(error.metadata, { region: 'UK', regions: 'AUS-SE, EU-W' })
    return true
  })
})

test('a node that was added is found when its region is asked for', async () => {
  const regions = regionsOf(['EU-W'], ['EU-W', 'UK'])
  await regions.require('EU-W')
  await regions.require('UK')
})

test('while the swarm could never be asked, nothing is refused; later, what was known last counts', async () => {
  await regionsOf(new Error('away')).require('UK')
  const regions = regionsOf(['EU-W'], new Error('away'))
  await regions.require('EU-W')
  await assert.rejects(regions.require('UK'), /There are nodes in: EU-W/)
})
