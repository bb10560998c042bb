/** What a registry costs: a deploy with and without one, and a switch back to a deployment whose files are gone. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Scope } from '../test/support/folder.ts'
import { NEEDS_REGISTRY, startRegistry } from '../test/support/images/registry.ts'
import { filesIn } from '../test/support/service/deploy.ts'
import { zipOf } from '../test/support/zip.ts'
import { type Bench, IS_QUICK, median, type Result, Skipped } from './bench.ts'
import { type Caller, createApp, createEnvironment, deploy, post, read, untilDone } from './client.ts'
import { logIn, PROJECT, startService, temporaryFolder } from './service.ts'

const EXAMPLE = 'express'
const DEPLOYS = IS_QUICK ? 1 : 5

export const images: Bench = {
  name: 'images',
  what: `deploys of the example ${EXAMPLE} with a registry on this machine, beside the same without one; switches back`,
  noise: 'the median of five deploys each, after a first one that installs packages and pushes the runtime',
  async run() {
    if (NEEDS_REGISTRY.skip) throw new Skipped(String(NEEDS_REGISTRY.skip))
    await using scope = createScope()
    const { url } = await startRegistry(scope)
    const without = await measured({})
    const withRegistry = await measured({ HEADLAND_REGISTRY: url })
    return [
      {
        what: 'deploy',
        unit: 's',
        ours: withRegistry.deploySeconds,
        peer: without.deploySeconds,
        beside: 'without a registry',
        goal: { of: 'ratio', max: 1.25 },
      },
      { what: 'switch back, files here', unit: 's', ours: withRegistry.switchSeconds },
      { what: 'switch back, files gone', unit: 's', ours: withRegistry.pullSeconds },
      { what: 'the pull of it', unit: 's', ours: withRegistry.pullSeconds - withRegistry.switchSeconds },
    ] satisfies Result[]
  },
}

async function measured(settings: Record<string, string>) {
  await using folder = await temporaryFolder()
  await using service = await startService(folder.path, settings)
  const caller: Caller = { api: service.api, headers: await logIn(folder.path) }
  await createApp(caller, 'app')
  const { name } = await createEnvironment(caller, 'app')
  const files = await filesIn(join(PROJECT, 'examples', EXAMPLE))
  const version = (number: number) => zipOf({ ...files, 'public/version.txt': `version ${number}` })
  const live = async () => String((await read(caller, `/v1/${name}`)).deployment)
  await deploy(caller, name, version(0))
  const first = await live()
  const deploys: number[] = []
  for (let number = 1; number <= DEPLOYS; number++)
    deploys.push(await seconds(() => deploy(caller, name, version(number))))
  const activate = async (deployment: string) => {
    const asked = await post(caller, `/v1/${deployment}:activate`, {})
    await untilDone(caller, asked.name)
  }
  const last = await live()
  const switchSeconds = await seconds(() => activate(first))
  await activate(last)
  if (settings.HEADLAND_REGISTRY === undefined) return { deploySeconds: median(deploys), switchSeconds, pullSeconds: 0 }
  for (const gone of ['outputs', 'packages']) await rm(join(folder.path, gone), { recursive: true })
  return { deploySeconds: median(deploys), switchSeconds, pullSeconds: await seconds(() => activate(first)) }
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const beganAt = performance.now()
  await work()
  return (performance.now() - beganAt) / 1000
}

/** What a test has: functions that are called at its end. */
function createScope(): Scope & AsyncDisposable {
  const ends: (() => unknown)[] = []
  return {
    after: (end) => void ends.unshift(end),
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end()
    },
  }
}
