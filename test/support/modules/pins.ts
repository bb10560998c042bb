/** An environment whose operations are claimed as the worker claims them, and end as the test says. */

import { createVariables } from '../../../src/apps/index.ts'
import type { Build } from '../../../src/builds/index.ts'
import { Problem } from '../../../src/contract/index.ts'
import {
  createBuildRequests,
  createEarlierFiles,
  createPins,
  createRequests,
  createSwitch,
  type Deployment,
  type Quiet,
} from '../../../src/deployments/index.ts'
import { createClaims } from '../../../src/operations/claim.ts'
import type { Operation, OperationRecord } from '../../../src/operations/index.ts'
import type { Asked } from '../../../src/triggers/index.ts'
import type { Scope } from '../folder.ts'
import { type Modules, openModules } from './deployments.ts'

export type Pinning = Awaited<ReturnType<typeof openPinning>>

const OWNER = 'test'
const vault = { seal: (text: string) => text, open: (text: string) => text, derive: (text: string) => text, keyId: '' }

export async function openPinning(t: Scope, modules?: Modules) {
  const parts = modules ?? (await openModules(t))
  const { sql, clock, account, builds, deployments, operations, environments, sources } = parts
  const { id, appName, accountId } = await parts.environment()
  const path = { accountId, appName, environmentId: id }
  const at = { account, appName, environmentId: id }
  const pins = createPins(parts)
  const routing = { touch: async () => undefined, publish: async () => undefined }
  const buildRequests = createBuildRequests(parts)
  const requests = createRequests({ ...parts, variables: createVariables({ vault }), buildRequests, routing })
  const nothing = async () => undefined
  const switching = createSwitch({
    ...parts,
    pins,
    routing: routing as never,
    earlierFiles: createEarlierFiles({ ...parts, routing, keepMs: 0 }),
    instances: { retire: nothing, holds: () => false, say: nothing },
    folders: { removeRun: nothing } as never,
  })
  const claims = createClaims({
    sql,
    clock,
    owner: OWNER,
    concurrency: { quick: 1, light: 1, build: 1 },
    hasSeveralAccounts: parts.accounts.areSeveral,
  })
  let running: OperationRecord | undefined

  const archiveOf = async (deploymentId: string) => {
    const { buildId } = (await deployments.find(sql, deploymentId)) as Deployment
    return (await builds.require(path, buildId)).archive.digest
  }

  /** As the handlers of the worker do it: the deployment is live, and the build ended. */
  async function succeed(operation: OperationRecord) {
    const environment = await environments.byId(sql, id)
    if (!environment) throw new Error('the environment is gone')
    if (operation.activates !== null) {
      await switching.to(environment, (await deployments.find(sql, operation.activates)) as Deployment, operation.id)
      return
    }
    const build = (await builds.ofOperation(sql, operation.id)) as Build
    const deployment = await deployments.makeFor(operation.id, path, { buildId: build.id, variables: [] })
    await switching.to(environment, deployment, operation.id)
    await sql.transaction((tx) => builds.end(tx, build.id, { state: 'SUCCEEDED', durations: {}, failure: null }))
  }

  return {
    ...parts,
    path,
    pins,
    upload: async (text: string): Promise<Operation> => requests.upload(at, await parts.archiveOf(text)),
    rebuild(quiet?: Quiet): Promise<Operation> {
      const asked: Asked[] = [
        { action: 'REBUILD', source: 'WEBHOOK', address: '', userAgent: '', time: clock.now(), requestedBy: null },
      ]
      return requests.rebuild(at, { asked, ...(quiet ? { quiet } : {}) })
    },
    activate: (deployment: string): Promise<Operation> => requests.activate(at, deployment),
    unpin: (): Promise<void> => pins.unpin(at),
    cancel: (operation: string): Promise<void> => requests.cancel(path, operation),

    /** Takes what is next, unless something is at work: one of an environment is. */
    async claim(): Promise<OperationRecord | undefined> {
      if (running) return undefined
      running = (await claims.next(['quick', 'light', 'build']))?.operation
      const build = running && running.activates === null ? await builds.ofOperation(sql, running.id) : undefined
      if (build) await builds.begin(build.id)
      return running
    },

    /** Ends what is at work, and resolves to it. */
    async finish(isGood: boolean): Promise<OperationRecord | undefined> {
      const operation = running
      if (!operation) return undefined
      if (isGood) await succeed(operation)
      const problem = new Problem('BUILD_SCRIPT_FAILED')
      await sql.transaction(async (tx) => {
        const build = isGood || operation.activates !== null ? undefined : await builds.ofOperation(tx, operation.id)
        if (build) await builds.end(tx, build.id, { state: 'FAILED', durations: {}, failure: null })
        await operations.end(tx, operation.id, OWNER, isGood ? { response: {} } : { error: problem })
      })
      running = undefined
      await clock.advance(10)
      return operation
    },

    digestOf: async (text: string) => (await parts.archiveOf(text)).digest,
    archiveOfDeployment: archiveOf,
    live: async (): Promise<string | null> => (await environments.byId(sql, id))?.liveDeployment ?? null,
    liveArchive: async (): Promise<string | undefined> => {
      const live = (await environments.byId(sql, id))?.liveDeployment
      return live ? archiveOf(live) : undefined
    },
    pin: async () => (await sources.find(sql, id))?.pin,
    buildOf: async ({ id: operationId }: Operation) => builds.ofOperation(sql, operationId),
    settled: () => switching.settled(),
  }
}
