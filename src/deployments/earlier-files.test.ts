import assert from 'node:assert/strict'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openRoutedModules } from '../../test/support/modules/routing.ts'
import type { Environment } from '../apps/index.ts'
import type { Plan } from '../builds/index.ts'
import { lookUpOnce, makeAssetList, makeManifest, type RouteTarget } from '../edge/index.ts'
import { createRetain } from '../retention/retain.ts'
import type { Digest } from '../storage/index.ts'
import { createEarlierFiles, earlierFilesSize } from './earlier-files.ts'
import type { Deployment } from './records/rows.ts'

const HOUR_MS = 60 * 60_000

/** Each deployment has one script of its own and one that all have; `as` decides who serves them. */
type Kind = 'static' | 'server' | 'unknown server'

async function setUp(t: TestContext, { keepHours = 24, keepDeployments = 1, hasEdgesElsewhere = false } = {}) {
  const images = {
    referencesOf: async (outputs: readonly Digest[]) =>
      new Map(outputs.map((output) => [output, `image of ${output}`])),
  }
  const elsewhere = hasEdgesElsewhere ? { images, keepEarlierMs: keepHours * HOUR_MS } : {}
  const modules = await openRoutedModules(t, elsewhere)
  const { sql, clock, newId, dataDir, environments, deployments, builds, outputs, folders, published, routing } =
    modules
  const earlierFiles = createEarlierFiles({ ...modules, routing, keepMs: keepHours * HOUR_MS, hasEdgesElsewhere })
  const retain = createRetain({ ...modules, keepDeployments })

  async function environment(): Promise<Environment> {
    const made = await modules.environment()
    await sql.transaction((tx) => environments.assignHostLabel(tx, made))
    return made
  }
  const shop = await environment()

  async function make(of: Environment, name: string, kind: Kind): Promise<Deployment> {
    const { id, operationId } = await modules.build(of)
    const files = join(dataDir, 'made', newId())
    const scripts = { [`assets/${name}-Aaaaaa11.js`]: `script ${name}`, 'assets/all-Aaaaaa11.js': 'in all' }
    for (const [path, text] of Object.entries({ 'index.html': name, ...scripts })) {
      await mkdir(dirname(join(files, 'client', path)), { recursive: true })
      await writeFile(join(files, 'client', path), text)
    }
    const isStatic = kind === 'static'
    await builds.planned(id, { output: { kind: isStatic ? 'static' : 'server' } } as Plan)
    await outputs.keep({ files: isStatic ? join(files, 'client') : files }, of.id, {
      async prepare(top, edge) {
        if (isStatic) await makeManifest(top, edge, { singlePage: false })
        if (kind === 'server') await makeAssetList(top, edge, [{ folder: 'client', address: '' }])
      },
      record: (digest, size) => builds.built(id, digest, size),
    })
    return modules.deploymentOf(of, id, operationId)
  }

  /** As `createSwitch` does it. */
  async function goLive(of: Environment, deployment: Deployment, { keepsEarlier = true } = {}) {
    const last = (await environments.byId(sql, of.id))?.liveDeployment ?? null
    const switched = { environmentId: of.id, live: deployment.id, last }
    await earlierFiles.switchWith(switched, { keepsEarlier }, async (index) => {
      await modules.goLive(of, deployment)
      await sql.transaction(async (tx) => {
        if (!keepsEarlier) await deployments.withdrawEarlier(tx, of.id)
        await deployments.setEarlierIndex(tx, deployment.id, index)
        await routing.touch(tx, of.id)
      })
    })
    await routing.publish()
  }

  async function deploy(name: string, kind: Kind = 'static', of = shop): Promise<Deployment> {
    const deployment = await make(of, name, kind)
    await goLive(of, deployment)
    await retain(of.id)
    await earlierFiles.tend(of.id)
    return deployment
  }

  function targetOf(of = shop): RouteTarget {
    const newest = published.flatMap(({ routes }) => routes).findLast(({ environment }) => environment === of.id)
    return Object.values(newest?.hosts ?? {})[0] ?? assert.fail('it has no route')
  }

  /** Which scripts of earlier deployments the edge finds. */
  async function found(names: readonly string[], of = shop): Promise<string[]> {
    const { earlierFiles: index } = targetOf(of)
    if (index === undefined) return []
    const looks = names.map(
      async (name) => [name, await lookUpOnce(index, { path: `/assets/${name}-Aaaaaa11.js` })] as const,
    )
    return (await Promise.all(looks)).flatMap(([name, { kind }]) => (kind === 'file' ? [name] : []))
  }

  const kept = (of = shop) => readdir(folders.earlier(of.id)).catch(() => [])
  return { ...modules, environment, earlierFiles, retain, shop, make, goLive, deploy, targetOf, found, kept, clock }
}

const NAMES = ['a', 'b', 'c', 'd', 'all', 'other']

for (const kind of ['static', 'server'] as const)
  test(`files of a ${kind} deployment outlive its output for the set time, and are removed then`, async (t) => {
    const { deploy, found, deployments, kept, earlierFiles, shop, clock } = await setUp(t)
    const [first] = [await deploy('a', kind), await deploy('b', kind), await deploy('c', kind)]
    assert.deepEqual(await found(NAMES), ['a', 'b'], 'the live one has the file that all have')
    assert.equal((await deployments.outputsOf([first?.id ?? ''])).size, 0, 'its output was discarded')

    await clock.advance(25 * HOUR_MS)
    await earlierFiles.tend(shop.id)
    assert.deepEqual(await found(NAMES), ['b'], 'one that can be made live again keeps its files')
    const names = await kept()
    assert.equal(names.filter((name) => /^[0-9a-f]{64}$/.test(name)).length, 1, names.join())
    assert.equal(names.filter((name) => name.endsWith('.index')).length, 1, names.join())
    assert.equal(names.filter((name) => name.endsWith('.json')).length, 1, names.join())
  })

test('after a rollback the deployment that was left is an earlier one, and the live one is not', async (t) => {
  const { deploy, goLive, found, shop, earlierFiles } = await setUp(t, { keepDeployments: 5 })
  const first = await deploy('a')
  await deploy('b')
  await goLive(shop, first)
  assert.deepEqual(await found(NAMES), ['b'])
  await earlierFiles.tend(shop.id)
  assert.deepEqual(await found(NAMES), ['b'])
})

test('a deployment that was never live leaves no files', async (t) => {
  const { deploy, make, found, shop, deployments, sql } = await setUp(t)
  await deploy('a')
  const { operationId } = await make(shop, 'b', 'static')
  await sql.transaction((tx) => deployments.setFailed(tx, operationId))
  await deploy('c')
  assert.deepEqual(await found(NAMES), ['a'])
})

test('a Clean Rebuild ends the files of all deployments before it, and a later one begins anew', async (t) => {
  const { deploy, make, goLive, found, kept, shop, earlierFiles, targetOf } = await setUp(t, { keepDeployments: 5 })
  const first = await deploy('a')
  await deploy('b')
  await goLive(shop, await make(shop, 'c', 'static'), { keepsEarlier: false })
  assert.equal(targetOf().earlierFiles, undefined)
  await earlierFiles.tend(shop.id)
  assert.deepEqual(await kept(), [])
  await deploy('d')
  assert.deepEqual(await found(NAMES), ['c'])
  await goLive(shop, first)
  await deploy('d')
  assert.deepEqual(await found(NAMES), ['a', 'c'], 'one that was made live again is served again')
})

test('files can be withdrawn without a switch', async (t) => {
  const { deploy, found, kept, shop, earlierFiles } = await setUp(t)
  await deploy('a')
  await deploy('b')
  assert.deepEqual(await found(NAMES), ['a'])
  await earlierFiles.withdraw(shop.id)
  assert.deepEqual(await found(NAMES), [])
  assert.deepEqual(await kept(), [])
})

test('an environment never gets files of another one', async (t) => {
  const { deploy, found, environment } = await setUp(t)
  const neighbour = await environment()
  await deploy('other', 'static', neighbour)
  await deploy('other', 'static', neighbour)
  await deploy('a')
  await deploy('b')
  assert.deepEqual(await found(NAMES), ['a'])
  assert.deepEqual(await found(NAMES, neighbour), [])
})

test('while a server is live whose files are not known, none of earlier deployments are served', async (t) => {
  const { deploy, found, targetOf } = await setUp(t)
  await deploy('a')
  await deploy('b', 'unknown server')
  assert.equal(targetOf().earlierFiles, undefined)
  await deploy('c', 'server')
  assert.deepEqual(await found(NAMES), ['a'])
})

test('with a time of 0 nothing is kept, also not what was kept before', async (t) => {
  const { deploy, earlierFiles: _, shop, kept, ...modules } = await setUp(t)
  await deploy('a')
  await deploy('b')
  assert.ok((await kept()).length > 0)
  await createEarlierFiles({ ...modules, keepMs: 0 }).tend(shop.id)
  assert.deepEqual(await kept(), [])
  assert.equal(modules.targetOf().earlierFiles, undefined)
})

test('what was lost is made again from outputs that are there, as after a restore', async (t) => {
  const { deploy, found, folders, shop, earlierFiles } = await setUp(t, { keepDeployments: 5 })
  await deploy('a')
  await deploy('b')
  await rm(folders.earlier(shop.id), { recursive: true })
  await earlierFiles.tend(shop.id)
  assert.deepEqual(await found(NAMES), ['a'])
})

test('a folder that cannot be written does not fail a deployment', async (t) => {
  const { deploy, make, goLive, targetOf, folders, shop } = await setUp(t)
  await deploy('a')
  await rm(folders.earlier(shop.id), { recursive: true, force: true })
  await mkdir(dirname(folders.earlier(shop.id)), { recursive: true })
  await writeFile(folders.earlier(shop.id), 'a file in its place')
  const next = await make(shop, 'b', 'static')
  await goLive(shop, next)
  assert.equal(targetOf().earlierFiles, undefined)
})

test('a name of an index that leads elsewhere is not used', async (t) => {
  const { deploy, sql, deployments, routing, shop, targetOf } = await setUp(t)
  const { id } = await deploy('a')
  for (const name of ['../../../secret.index', '/etc/passwd', 'x']) {
    await sql.transaction(async (tx) => {
      await deployments.setEarlierIndex(tx, id, name)
      await routing.touch(tx, shop.id)
    })
    await routing.publish()
    assert.equal(targetOf().earlierFiles, undefined)
  }
})

test('only files whose output is gone count as used space', async (t) => {
  const { deploy, shop, folders, outputs, deployments } = await setUp(t, { keepDeployments: 5 })
  const { id } = await deploy('a')
  await deploy('b')
  const sizeNow = () => earlierFilesSize(folders.earlier(shop.id))
  const before = await sizeNow()
  const output = (await deployments.outputsOf([id])).get(id)?.output ?? assert.fail()
  await outputs.remove(output)
  const after = await sizeNow()
  assert.equal(after.files - before.files, 2, 'the script, and the list that names it')
  assert.ok(after.bytes - before.bytes >= 'script a'.length)
})

async function setUpElsewhere(t: TestContext, options: { keepHours?: number } = {}) {
  const made = await setUp(t, { keepDeployments: 9, hasEdgesElsewhere: true, ...options })
  async function outputOf({ id }: Deployment): Promise<string> {
    return (await made.deployments.outputsOf([id])).get(id)?.output ?? ''
  }
  function earlier() {
    const target = made.targetOf()
    return target.kind === 'static' ? target.earlier : undefined
  }
  return { ...made, outputOf, earlier, digests: () => earlier()?.outputs.map(({ digest }) => digest) ?? [] }
}

test('edges of other machines are told the newest five earlier outputs, with their images', async (t) => {
  const { deploy, outputOf, earlier, digests } = await setUpElsewhere(t)
  const made: Deployment[] = []
  for (const name of 'abcdefg') made.push(await deploy(name))
  const expected = await Promise.all(made.slice(1, 6).toReversed().map(outputOf))
  assert.deepEqual(digests(), expected)
  assert.equal(earlier()?.outputs[0]?.image, `image of ${expected[0]}`)
})

test('another live output has another index at edges of other machines', async (t) => {
  const { deploy, goLive, shop, earlier, digests, outputOf } = await setUpElsewhere(t)
  const [first, second] = [await deploy('a'), await deploy('b')]
  const before = earlier()?.digest
  await goLive(shop, first)
  assert.deepEqual(digests(), [await outputOf(second)])
  assert.notEqual(earlier()?.digest, before)
})

test('files that are withdrawn are not served at edges of other machines either', async (t) => {
  const { deploy, shop, earlierFiles, earlier } = await setUpElsewhere(t)
  await deploy('a')
  await deploy('b')
  assert.ok(earlier())
  await earlierFiles.withdraw(shop.id)
  assert.equal(earlier(), undefined)
})

test('with a time of 0, edges of other machines are told no earlier outputs', async (t) => {
  const { deploy, earlier } = await setUpElsewhere(t, { keepHours: 0 })
  await deploy('a')
  await deploy('b')
  assert.equal(earlier(), undefined)
})
