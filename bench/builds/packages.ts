/** Five environments of one account with the same lockfile: what the install costs after the first has installed. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Bench, median } from '../bench.ts'
import { createApp, createEnvironment, deploy } from '../client.ts'
import { logIn, startService, temporaryFolder } from '../service.ts'
import { installSeconds, zipExample } from './by-hand.ts'

const OTHERS = 4

export const samePackages: Bench = {
  name: 'same-packages',
  what: 'five environments with the same lockfile: installing in the second to fifth beside the first',
  noise: 'the same upload into five environments one after the other; the median of the last four beside the first',
  async run() {
    await using folder = await temporaryFolder()
    const zip = join(folder.path, 'next.zip')
    await zipExample('next', zip)
    const dataDir = join(folder.path, 'data')
    await using service = await startService(dataDir)
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await createApp(caller, 'bench')

    async function installing(): Promise<number> {
      const { name } = await createEnvironment(caller, 'bench')
      await deploy(caller, name, await readFile(zip))
      return installSeconds(caller, name)
    }

    const first = await installing()
    const others: number[] = []
    for (let round = 0; round < OTHERS; round++) others.push(await installing())
    return [
      {
        what: 'installing in the others, beside the first',
        unit: 's',
        ours: median(others),
        peer: first,
        goal: { of: 'ratio', max: 0.5 },
      },
    ]
  },
}
