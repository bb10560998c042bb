/**
 * What the service itself costs in a warm Rebuild: all but the framework's build command and the app's own start. It is
 * measured with the packages of the Next.js example, and with five times as many.
 */
import assert from 'node:assert/strict'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Bench, median } from '../bench.ts'
import { type Caller, createApp, createEnvironment, deploy, read, rebuild } from '../client.ts'
import { logIn, PROJECT, startService, temporaryFolder } from '../service.ts'
import { handEnvironment, NEXT_START, run, startApp } from './by-hand.ts'

const ROUNDS = 5
const FILLING = { files: 20_000, bytes: 60_000 }

export const rebuildShare: Bench = {
  name: 'rebuild-share',
  what: "the service's own share of a warm Rebuild of the Next.js example, with 300 MB and with 1.5 GB of packages",
  noise:
    'what the framework itself takes is subtracted, by the log and by a start without the service; five rounds, medians',
  async run() {
    await using folder = await temporaryFolder()
    const dataDir = join(folder.path, 'data')
    // npm needs as much memory as the largest package, here the one that is added to fill up.
    await using service = await startService(dataDir, { HEADLAND_BUILD_MEMORY: String(4 * 1024 ** 3) })
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await createApp(caller, 'bench')
    const app = join(folder.path, 'app')
    await cp(join(PROJECT, 'examples', 'next'), app, { recursive: true })
    const small = await shareOf(caller, app, join(folder.path, 'small.zip'))
    await fill(app)
    const large = await shareOf(caller, app, join(folder.path, 'large.zip'))
    return [
      { what: 'share, 300 MB of packages', unit: 's', ours: small, goal: { of: 'ours', max: 1 } },
      { what: 'share, 1.5 GB beside 300 MB', unit: 's', ours: large, peer: small, goal: { of: 'ratio', max: 1.25 } },
    ]
  },
}

async function shareOf(caller: Caller, app: string, zip: string): Promise<number> {
  await run('zip', ['-qr', zip, '.', '-x', 'node_modules/*', '.next/*'], { cwd: app })
  const { name } = await createEnvironment(caller, 'bench')
  await deploy(caller, name, await readFile(zip))
  const bare = await startOf(app)
  const shares: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const startTime = performance.now()
    const build = await rebuild(caller, name, { clean: false })
    const total = (performance.now() - startTime) / 1000
    shares.push(total - (await commandSeconds(caller, build)) - bare)
  }
  return median(shares)
}

/** The app's own start, without the service. */
async function startOf(app: string): Promise<number> {
  const env = handEnvironment(app)
  await run('npm', ['ci'], { cwd: app, env })
  await run('npm', ['run', 'build'], { cwd: app, env, maxBuffer: 64 * 1024 * 1024 })
  const seconds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await using started = await startApp(app, NEXT_START)
    seconds.push(started.seconds)
  }
  for (const made of ['node_modules', '.next', '.npm']) await rm(join(app, made), { recursive: true, force: true })
  return median(seconds)
}

/** How long the build command ran, by the log. */
async function commandSeconds({ api, headers }: Caller, build: string): Promise<number> {
  const log = await (await fetch(`${api}/v1/${build}/log`, { headers })).text()
  assert.doesNotMatch(log, /\$ npm ci/, 'a Rebuild has installed packages')
  const seconds = /BUILDING service `npm run build` took ([\d.]+) s/.exec(log)?.[1]
  assert.ok(seconds, log)
  assert.equal((await read({ api, headers }, `/v1/${build}`)).state, 'SUCCEEDED')
  return Number(seconds)
}

/** A package of many files that are large when unpacked, and small to upload. */
async function fill(app: string) {
  const filling = join(app, 'filling')
  await mkdir(join(filling, 'package'), { recursive: true })
  await writeFile(join(filling, 'package', 'package.json'), JSON.stringify({ name: 'filling', version: '1.0.0' }))
  const content = Buffer.alloc(FILLING.bytes)
  for (let file = 0; file < FILLING.files; file++) {
    const folder = join(filling, 'package', String(file % 200))
    if (file < 200) await mkdir(folder)
    await writeFile(join(folder, `${file}.bin`), content)
  }
  await run('tar', ['-czf', join(app, 'filling.tgz'), '-C', filling, 'package'])
  await rm(filling, { recursive: true })
  const manifest = JSON.parse(await readFile(join(app, 'package.json'), 'utf8'))
  manifest.dependencies.filling = 'file:filling.tgz'
  await writeFile(join(app, 'package.json'), JSON.stringify(manifest))
  await run('npm', ['install', '--package-lock-only'], { cwd: app, env: handEnvironment(app) })
  await rm(join(app, '.npm'), { recursive: true, force: true })
}
