/** The first byte of an app that sleeps, beside its start by hand. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Bench, IS_QUICK, median, type Result } from './bench.ts'
import { byHand, NEXT_START, run, startApp, zipExample } from './builds/by-hand.ts'
import { type Caller, createApp, createEnvironment, deploy, untilAsleep, visit } from './client.ts'
import { logIn, type Service, startService, temporaryFolder } from './service.ts'

const ROUNDS = IS_QUICK ? 1 : 7
const SETTINGS = { HEADLAND_IDLE_TIMEOUT: '2' }

type Example = {
  what: string
  folder: string
  start: readonly string[]
  /** Makes what is started by hand. */
  prepare(zip: string, folder: string): Promise<unknown>
}

const EXAMPLES: readonly Example[] = [
  {
    what: 'a plain Node server',
    folder: 'node-server',
    start: ['server.js'],
    prepare: (zip, folder) => run('unzip', ['-q', zip, '-d', folder]),
  },
  { what: 'Next.js', folder: 'next', start: NEXT_START, prepare: byHand },
]

export const wake: Bench = {
  name: 'wake',
  what: 'the first byte of an app that sleeps, beside its start by hand until it answers',
  noise: 'seven of each in turns, medians; wall-clock time, since it is a wait that is measured',
  async run() {
    await using folder = await temporaryFolder()
    const dataDir = join(folder.path, 'data')
    await using service = await startService(dataDir, SETTINGS)
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await createApp(caller, 'shop')
    const results: Result[] = []
    for (const example of EXAMPLES) results.push(await measure(example, { service, caller, folder: folder.path }))
    return results
  },
}

type Place = { service: Service; caller: Caller; folder: string }

async function measure(example: Example, { service, caller, folder }: Place): Promise<Result> {
  const zip = join(folder, `${example.folder}.zip`)
  const hand = join(folder, example.folder)
  await zipExample(example.folder, zip)
  await example.prepare(zip, hand)
  const site = await createEnvironment(caller, 'shop')
  await deploy(caller, site.name, await readFile(zip))
  const [ours, peer]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    await using app = await startApp(hand, example.start)
    peer.push(app.seconds * 1000)
    await untilAsleep(caller, [site.name])
    ours.push((await visit(service.edge, site.url)) * 1000)
  }
  return {
    what: `first byte of ${example.what} that sleeps`,
    unit: 'ms',
    ours: median(ours),
    peer: median(peer),
    goal: { of: 'ratio', max: 0.4 },
  }
}
