/** Upload to live of the Next.js example with empty caches, and waking it when it was stopped, beside the same by hand. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Bench, median } from '../bench.ts'
import { createApp, createEnvironment, deploy, read, rebuild, visit } from '../client.ts'
import { logIn, startService, temporaryFolder } from '../service.ts'
import { byHand, NEXT_START, startApp, zipExample } from './by-hand.ts'

const ROUNDS = 3
const WAKE_ROUNDS = 5

export const nextByHand: Bench = {
  name: 'next-by-hand',
  what: 'the Next.js example from zip to first answer, and from sleep to answer, beside the same by hand',
  noise: 'both do the same work in turns, three times from nothing and five times from sleep, medians',
  async run() {
    await using folder = await temporaryFolder()
    const zip = join(folder.path, 'next.zip')
    await zipExample('next', zip)
    const dataDir = join(folder.path, 'data')
    await using service = await startService(dataDir, { HEADLAND_IDLE_TIMEOUT: '2', HEADLAND_SLEEP_MEMORY: '0' })
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await createApp(caller, 'shop')

    const live = { ours: [] as number[], peer: [] as number[] }
    const site = await createEnvironment(caller, 'shop')
    for (let round = 0; round < ROUNDS; round++) {
      live.peer.push(await byHand(zip, join(folder.path, `hand-${round}`), NEXT_START))
      const startTime = performance.now()
      // After the first time, use a clean build, which reuses nothing from earlier builds either.
      if (round === 0) await deploy(caller, site.name, await readFile(zip))
      else await rebuild(caller, site.name, { clean: true })
      await visit(service.edge, site.url)
      live.ours.push((performance.now() - startTime) / 1000)
    }

    const start = { ours: [] as number[], peer: [] as number[] }
    const { deployment } = await read(caller, `/v1/${site.name}`)
    for (let round = 0; round < WAKE_ROUNDS; round++) {
      await using app = await startApp(join(folder.path, `hand-${round % ROUNDS}`), NEXT_START)
      start.peer.push(app.seconds)
      for (let tries = 0; (await stateOf(String(deployment))) !== 'ASLEEP'; tries++) {
        assert.ok(tries < 300, 'it does not fall asleep')
        await wait(100)
      }
      start.ours.push(await visit(service.edge, site.url))
    }
    return [
      {
        what: 'upload to live, empty caches',
        unit: 's',
        ours: median(live.ours),
        peer: median(live.peer),
        goal: { of: 'ratio', max: 1.1 },
      },
      {
        what: 'waking an app that was stopped',
        unit: 's',
        ours: median(start.ours),
        peer: median(start.peer),
        goal: { of: 'ratio', max: 1.2 },
      },
    ]

    async function stateOf(name: string): Promise<unknown> {
      const { instance } = await read(caller, `/v1/${name}`)
      return (instance as { state?: string } | undefined)?.state
    }
  },
}
