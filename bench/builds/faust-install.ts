/** The install step of an upload of a Faust site (WordPress, on Next.js), which has many packages, beside `npm ci` by hand. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Bench, IS_QUICK, median } from '../bench.ts'
import { createApp, createEnvironment, deploy, rebuild } from '../client.ts'
import { logIn, PROJECT, startService, temporaryFolder } from '../service.ts'
import { handEnvironment, installSeconds, lockProject, run } from './by-hand.ts'

const ROUNDS = IS_QUICK ? 1 : 3

/** As the framework's own example has them, with Next.js as in ours; the second part makes most of the size. */
const SMALL = {
  '@apollo/client': '^3.13.0',
  '@faustwp/cli': '3.4.1',
  '@faustwp/core': '3.4.1',
  graphql: '^16.0.0',
}
const WHOLE = {
  ...SMALL,
  '@faustwp/blocks': '*',
  '@faustwp/block-editor-utils': '*',
  '@wordpress/base-styles': '*',
  '@wordpress/block-library': '*',
  '@wordpress/scripts': '*',
  classnames: '^2.0.0',
  sass: '^1.0.0',
}

export const faustInstall: Bench = {
  name: 'faust-install',
  what: 'the install step of a Faust site with empty caches, beside `npm ci` by hand',
  noise: 'both in turns, three times from nothing, medians',
  async run() {
    await using folder = await temporaryFolder()
    const site = join(folder.path, 'site')
    const zip = await zipSite(site, IS_QUICK ? SMALL : WHOLE)
    const dataDir = join(folder.path, 'data')
    await using service = await startService(dataDir, { HEADLAND_BUILD_MEMORY: String(4 * 1024 ** 3) })
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await createApp(caller, 'bench')
    const { name } = await createEnvironment(caller, 'bench')
    const [ours, peer]: [number[], number[]] = [[], []]
    for (let round = 0; round < ROUNDS; round++) {
      peer.push(await installByHand(site))
      // A clean build reuses nothing of the ones before.
      if (round === 0) await deploy(caller, name, zip)
      else await rebuild(caller, name, { clean: true })
      ours.push(await installSeconds(caller, name))
    }
    return [
      {
        ...{ what: 'installing, empty caches', beside: 'npm ci', unit: 's' },
        ...{ ours: median(ours), peer: median(peer), goal: { of: 'ratio', max: 1.1 } },
      },
    ]
  },
}

async function zipSite(folder: string, added: Record<string, string>): Promise<Buffer> {
  await mkdir(join(folder, 'pages'), { recursive: true })
  await writeFile(join(folder, 'pages/index.js'), 'export default function Page() { return <p>Faust</p> }\n')
  // Some packages of WordPress ask for versions of React that exclude each other.
  await writeFile(join(folder, '.npmrc'), 'legacy-peer-deps=true\n')
  const example = JSON.parse(await readFile(join(PROJECT, 'examples', 'next', 'package.json'), 'utf8'))
  const dependencies = { ...example.dependencies, ...added }
  const scripts = { build: 'next build', start: 'next start' }
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'site', private: true, scripts, dependencies }))
  await lockProject(folder)
  await run('zip', ['-qr', `${folder}.zip`, '.'], { cwd: folder })
  return readFile(`${folder}.zip`)
}

async function installByHand(folder: string): Promise<number> {
  for (const made of ['node_modules', '.npm']) await rm(join(folder, made), { recursive: true, force: true })
  const start = performance.now()
  await run('npm', ['ci'], { cwd: folder, env: handEnvironment(folder), maxBuffer: 64 * 1024 * 1024 })
  return (performance.now() - start) / 1000
}
