/** A Rebuild with warm caches, beside the same by hand from scratch. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Bench, median, type Result } from '../bench.ts'
import { type Caller, createApp, createEnvironment, deploy, rebuild, visit } from '../client.ts'
import { logIn, startService, temporaryFolder } from '../service.ts'
import { byHand, NEXT_START, zipExample } from './by-hand.ts'

const ROUNDS = 3

/** Static files need no start. */
const EXAMPLES: { example: string; start?: string[]; max: number }[] = [
  { example: 'next', start: NEXT_START, max: 0.25 },
  { example: 'nuxt', start: ['.output/server/index.mjs'], max: 0.4 },
  { example: 'astro', max: 0.5 },
  { example: 'sveltekit', start: ['build'], max: 0.5 },
  { example: 'docusaurus', max: 0.5 },
]

export const warmRebuild: Bench = {
  name: 'rebuild',
  what: 'a Rebuild of five frameworks with warm caches, beside unzip, install, build and start by hand',
  noise: 'three Rebuilds, median, right after the same by hand on the same machine',
  async run() {
    await using folder = await temporaryFolder()
    const dataDir = join(folder.path, 'data')
    await using service = await startService(dataDir)
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await createApp(caller, 'bench')
    const results: Result[] = []
    for (const { example, start, max } of EXAMPLES) {
      const zip = join(folder.path, `${example}.zip`)
      await zipExample(example, zip)
      const peer = await byHand(zip, join(folder.path, `${example}-by-hand`), start)
      const ours = await rebuilds(caller, service.edge, await readFile(zip))
      results.push({ what: `${example}: warm Rebuild to live`, unit: 's', ours, peer, goal: { of: 'ratio', max } })
    }
    return results
  },
}

/** The median of a few Rebuilds, after the first deploy has filled the caches. */
async function rebuilds(caller: Caller, edge: string, zip: Buffer): Promise<number> {
  const { name, url } = await createEnvironment(caller, 'bench')
  await deploy(caller, name, zip)
  const seconds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const startTime = performance.now()
    await rebuild(caller, name, { clean: false })
    await visit(edge, url)
    seconds.push((performance.now() - startTime) / 1000)
  }
  return median(seconds)
}
