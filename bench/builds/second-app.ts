/** The first build of a second app of an account, with the same framework, beside that of the first app. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Bench, IS_QUICK, median } from '../bench.ts'
import { createApp, createEnvironment, deploy } from '../client.ts'
import { logIn, PROJECT, startService, temporaryFolder } from '../service.ts'
import { installSeconds, lockProject, run } from './by-hand.ts'

const ROUNDS = IS_QUICK ? 1 : 3
const EXAMPLE = IS_QUICK ? 'sveltekit' : 'astro'
const MADE = ['node_modules', 'dist', 'build', '.svelte-kit', 'package-lock.json']

type Build = { seconds: number; install: number }

export const secondApp: Bench = {
  name: 'second-app',
  what: 'the first build of a second site of an account, with another lockfile, beside that of the first site',
  noise: 'one after the other on a new service, three times, medians',
  async run() {
    await using folder = await temporaryFolder()
    const zips = await zipApps(folder.path)
    const found: { ours: Build[]; peer: Build[] } = { ours: [], peer: [] }
    for (let round = 0; round < ROUNDS; round++) {
      const dataDir = join(folder.path, `data-${round}`)
      await using service = await startService(dataDir)
      const caller = { api: service.api, headers: await logIn(dataDir) }
      for (const [app, of] of [
        ['first', 'peer'],
        ['second', 'ours'],
      ] as const) {
        await createApp(caller, app)
        const { name } = await createEnvironment(caller, app)
        const start = performance.now()
        await deploy(caller, name, zips[app])
        const seconds = (performance.now() - start) / 1000
        found[of].push({ seconds, install: await installSeconds(caller, name) })
      }
    }
    const row = (what: string, of: keyof Build) => ({
      ...{ what, beside: 'the first app', unit: 's' },
      ours: median(found.ours.map((build) => build[of])),
      peer: median(found.peer.map((build) => build[of])),
    })
    return [
      { ...row('the first build of a second app', 'seconds'), goal: { of: 'ratio', max: 0.6 } },
      row('of that, installing', 'install'),
    ]
  },
}

/** The second has one package more, so its lockfile is another one. */
async function zipApps(top: string): Promise<{ first: Buffer; second: Buffer }> {
  const [first, second] = [join(top, 'first'), join(top, 'second')]
  await cp(join(PROJECT, 'examples', EXAMPLE), first, { recursive: true })
  for (const made of MADE) await rm(join(first, made), { recursive: true, force: true })
  await lockProject(first)
  await cp(first, second, { recursive: true })
  const manifest = JSON.parse(await readFile(join(second, 'package.json'), 'utf8'))
  manifest.dependencies = { ...manifest.dependencies, 'is-number': '7.0.0' }
  await writeFile(join(second, 'package.json'), JSON.stringify(manifest))
  await lockProject(second)
  for (const folder of [first, second])
    await run('zip', ['-qr', `${folder}.zip`, '.', '-x', 'expect.json'], { cwd: folder })
  return { first: await readFile(`${first}.zip`), second: await readFile(`${second}.zip`) }
}
