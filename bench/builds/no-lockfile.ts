/** An app without a lockfile: what a Rebuild takes beside its first build. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Bench, median } from '../bench.ts'
import { createApp, createEnvironment, deploy, rebuild } from '../client.ts'
import { logIn, PROJECT, startService, temporaryFolder } from '../service.ts'
import { run } from './by-hand.ts'

const ROUNDS = 3

export const noLockfile: Bench = {
  name: 'no-lockfile',
  what: 'an Astro site without a lockfile: a Rebuild beside the first build',
  noise: 'one after the other on the same service; the first build beside the median of three rebuilds',
  async run() {
    await using folder = await temporaryFolder()
    const zip = join(folder.path, 'astro.zip')
    const excluded = ['node_modules/*', 'expect.json', 'package-lock.json']
    await run('zip', ['-qr', zip, '.', '-x', ...excluded], { cwd: join(PROJECT, 'examples', 'astro') })
    const dataDir = join(folder.path, 'data')
    await using service = await startService(dataDir)
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await createApp(caller, 'bench')
    const { name } = await createEnvironment(caller, 'bench')

    const archive = await readFile(zip)
    const first = await secondsOf(() => deploy(caller, name, archive))
    const others: number[] = []
    for (let round = 0; round < ROUNDS; round++)
      others.push(await secondsOf(() => rebuild(caller, name, { clean: false })))
    return [
      {
        ...{ what: 'a Rebuild, beside the first build', beside: 'the first build', unit: 's' },
        ...{ ours: median(others), peer: first, goal: { of: 'ratio', max: 0.4 } },
      },
    ]
  },
}

async function secondsOf(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await act()
  return (performance.now() - start) / 1000
}
