/** What a deployment begins with: the pages that another one has made, or none of them. */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { test } from 'node:test'
import type { Scope } from '../../../test/support/folder.ts'
import { openModules } from '../../../test/support/modules/deployments.ts'
import { appWith, planOf } from '../../../test/support/plan.ts'
import type { Environment } from '../../apps/index.ts'
import type { InstanceRequest, Instances } from '../../runtime/index.ts'
import { statement } from '../../storage/index.ts'
import { createRevalidations } from '../records/revalidations.ts'
import { createWantedInstances } from '../records/wanted.ts'
import { createLauncher } from './launch.ts'

async function open(t: Scope) {
  const modules = await openModules(t)
  const revalidations = createRevalidations(modules)
  const [carried, started, adopted] = [[] as string[], [] as InstanceRequest[], [] as InstanceRequest[]]
  const instances = {
    carry: async (from: { runFolder: string }) => carried.push(from.runFolder) > 0,
    start: async (spec: InstanceRequest) => void started.push(spec),
    async adopt(requests: readonly InstanceRequest[]) {
      adopted.push(...requests)
      return requests.map(({ deployment }) => deployment)
    },
    setScaling: async () => undefined,
    retire: async () => undefined,
    of: () => undefined,
  }
  const launcher = createLauncher({
    ...modules,
    revalidations,
    wantedInstances: createWantedInstances(modules),
    instances: instances satisfies Partial<Instances>,
    toolchains: {} as Parameters<typeof createLauncher>[0]['toolchains'],
    appVariables: async () => ({ own: {}, metadata: {}, secrets: [] }),
    appLimits: {} as Parameters<typeof createLauncher>[0]['appLimits'],
    changes: { notify: () => undefined },
    domain: 'localhost',
  })
  const environment = await modules.environment()
  const path = { accountId: environment.accountId, environmentId: environment.id }
  const plan = await planOf(appWith(['next'], { build: 'next build' }))

  async function deploy() {
    const made = await modules.deploy(environment)
    await modules.builds.planned(made.id, plan)
    return { ...made, deployment: await modules.read(made.deployment) }
  }
  /** With the build and the variables of another one. */
  async function deployAgain(buildId: string) {
    return modules.deploymentOf(environment, buildId, await modules.operation(environment))
  }
  async function start(deployment: Awaited<ReturnType<typeof deployAgain>>, replaced?: typeof deployment) {
    const current = (await modules.environments.byId(modules.sql, environment.id)) as Environment
    const build = await modules.builds.require(path, deployment.buildId)
    const { signal } = new AbortController()
    await launcher.start(current, deployment, build, { signal, ...(replaced ? { replaced } : {}) })
  }
  const everything = async () => (await revalidations.read(environment.id)).everything
  return {
    ...modules,
    launcher,
    instances,
    environment,
    deploy,
    deployAgain,
    start,
    carried,
    started,
    adopted,
    everything,
  }
}

test('a deployment of the same build begins with what the one that it replaces has written', async (t) => {
  const { deploy, deployAgain, start, carried, everything, folders, environment } = await open(t)
  const { id, deployment: live } = await deploy()
  await start(await deployAgain(id), live)
  assert.deepEqual(carried, [folders.run(environment.id, live.id)])
  assert.equal(await everything(), 0)
})

test('if that is not possible, all pages expire', async (t) => {
  const { deploy, deployAgain, start, instances, everything, clock } = await open(t)
  const { id, deployment: live } = await deploy()
  instances.carry = async () => false
  await start(await deployAgain(id), live)
  assert.equal(await everything(), clock.now())
  await clock.advance(1000)
  instances.carry = () => Promise.reject(new Error('the disk is full'))
  await start(await deployAgain(id), live)
  assert.equal(await everything(), clock.now())
})

test('a deployment of another build expires all pages, and that of a new build does not', async (t) => {
  const { deploy, start, carried, everything, clock, read } = await open(t)
  const { deployment: older } = await deploy()
  const { deployment: newer } = await deploy()
  await start(newer)
  assert.equal(await everything(), 0)
  await start(await read(older.id), newer)
  assert.deepEqual([carried, await everything()], [[], clock.now()])
})

test('a process knows when its build began and ended, and what was revalidated since', async (t) => {
  const { deploy, start, started, sql, environment, environments, builds } = await open(t)
  const { id, deployment } = await deploy()
  const revalidations = createRevalidations({
    sql,
    clock: { now: () => 1e15, sleep: async () => undefined },
    environments,
  })
  await sql.transaction((tx) => revalidations.note(tx, environment.id, { posts: 5 }))
  await start(deployment)
  const { createTime, finishTime } = await builds.require(
    { accountId: environment.accountId, environmentId: environment.id },
    id,
  )
  const text = await started[0]?.expiries?.()
  assert.deepEqual(JSON.parse(String(text)), {
    began: createTime,
    ended: finishTime,
    isReplaced: false,
    everything: 0,
    tags: { posts: 5 },
  })
})

test('all pages expire if the folder of an app was lost, or was removed because it was full', async (t) => {
  const { deploy, launcher, adopted, everything, clock, folders, environment, sql } = await open(t)
  const { deployment } = await deploy()
  await sql.transaction((tx) => tx.query(statement`UPDATE environments SET host_label = 'site'`))
  await mkdir(folders.run(environment.id, deployment.id), { recursive: true })
  await launcher.restore()
  assert.deepEqual([adopted.length, await everything()], [1, 0])
  await adopted[0]?.onReset?.()
  assert.equal(await everything(), clock.now())
  await clock.advance(1000)
  await folders.removeRun(environment.id, deployment.id, () => false)
  await launcher.restore()
  assert.deepEqual([adopted.length, await everything()], [2, clock.now()])
})
