/**
 * All modules up to deployments on a real disk and a real database, with an account, and functions that record builds
 * and deployments.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createPreviewRecords, createVariables, type Environment } from '../../../src/apps/index.ts'
import { createArchives, DEFAULT_ARCHIVE_LIMITS } from '../../../src/archives/index.ts'
import { createLog } from '../../../src/base/index.ts'
import {
  createBuildRetention,
  createBuilds,
  createOutputs,
  createPackageStore,
  createSources,
  createTarballStore,
  DEFAULT_OUTPUT_LIMITS,
} from '../../../src/builds/index.ts'
import { createDeployments, createFolders, type Deployment } from '../../../src/deployments/index.ts'
import { createRepositories } from '../../../src/git/index.ts'
import { createSnapshotRecords } from '../../../src/snapshots/index.ts'
import { openDiskBlobs } from '../../../src/storage/blobs/blobs-disk.ts'
import { createLineLogs, createVault, type Digest, statement } from '../../../src/storage/index.ts'
import { createLedger } from '../../../src/triggers/index.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { openCoreModules } from './core.ts'

type Built = { archive?: string; output?: string; packages?: string; state?: 'SUCCEEDED' | 'FAILED'; isOver?: boolean }

export async function openModules(t: Scope) {
  const dataDir = await temporaryFolder(t)
  const lower = await openCoreModules(t)
  const { sql, clock, newId, notifyBelow } = lower
  const blobs = await openDiskBlobs(join(dataDir, 'blobs'))
  /** Deployments that have a process. */
  const running = new Set<string>()
  const builds = createBuilds({ sql, clock, newId, notifyBelow, requestersOf: lower.operations.requestersOf })
  const variables = createVariables({ vault: createVault(randomBytes(32)) })
  const modules = {
    ...lower,
    variables,
    previewRecords: createPreviewRecords({ ...lower, variables }),
    log: createLog('silent'),
    dataDir,
    archives: createArchives({ blobs, limits: DEFAULT_ARCHIVE_LIMITS }),
    builds,
    buildRetention: createBuildRetention({
      sql,
      environmentIdsOf: async (accountId) => (await lower.environments.all(accountId)).map(({ id }) => id),
    }),
    sources: createSources({ sql, clock, notifyBelow }),
    outputs: createOutputs({ folder: join(dataDir, 'outputs'), limits: DEFAULT_OUTPUT_LIMITS }),
    packages: createPackageStore({ sql, clock, newId, folder: join(dataDir, 'packages') }),
    tarballs: createTarballStore({ folder: join(dataDir, 'tarballs') }),
    deployments: createDeployments({ ...lower, builds }),
    ledger: createLedger(lower),
    repositories: createRepositories({ sql, clock, newId }),
    snapshotRecords: createSnapshotRecords({ sql, clock }),
    folders: createFolders(dataDir, { canChooseUsers: false }),
    logs: createLineLogs(join(dataDir, 'logs')),
    instances: { holds: (deployment: string) => running.has(deployment) },
    toolchains: { sweep: async () => undefined, collect: async () => [] },
  }
  await modules.outputs.sweep()
  const account = await modules.accounts.create('ours')

  async function environment(of = account): Promise<Environment> {
    const app = await modules.apps.create(of.id, `app-${newId()}`, 'regions/UK')
    const id = newId()
    const draft = { displayName: 'x', branch: 'uploadable', cmsEnvironment: 'x', rootDirectory: '', variables: [] }
    await sql.transaction((tx) => modules.environments.insert(tx, { id: app.id, accountId: of.id }, id, draft))
    return (await modules.environments.byId(sql, id)) as Environment
  }

  async function operation({ id, accountId, appName }: Environment, activates?: string): Promise<string> {
    const path = { accountId, appName, environmentId: id }
    const more = activates === undefined ? {} : { activates }
    return (await sql.transaction((tx) => modules.operations.request(tx, path, 'UPLOAD', more))).id
  }

  async function finish(operationId: string) {
    await sql.transaction((tx) =>
      tx.query(statement`UPDATE operations SET done_time = ${clock.now()} WHERE id = ${operationId}`),
    )
  }

  async function archiveOf(text: string): Promise<{ digest: Digest; bytes: number; files: number }> {
    const source = async function* () {
      yield Buffer.from(text)
    }
    return { ...(await blobs.put(source())), files: 1 }
  }

  /** A build with everything that it stores; the texts are the contents of its files. */
  async function build(of: Environment, { archive = 'zip', output, packages, ...more }: Built = {}) {
    const { id: environmentId, accountId } = of
    const operationId = await operation(of)
    const id = newId()
    const given = { id, operationId, trigger: 'UPLOAD' as const, isClean: false, archive: await archiveOf(archive) }
    await sql.transaction((tx) => modules.builds.insert(tx, { accountId, environmentId }, given))
    const log = await modules.logs.create(`builds/${id}`, { secrets: [], whenFull: 'stop', maxBytes: 1_000_000 })
    log.say('', 'built')
    await log.close()
    if (packages !== undefined) {
      const kept = { id: newId(), wanted: packages, files: 1, bytes: packages.length }
      await sql.transaction(async (tx) => {
        await modules.packages.record(tx, accountId, kept)
        await modules.builds.claimPackages(tx, id, kept.id)
      })
      await modules.packages.keep(await folderWith(packages), kept.id)
    }
    let digest: Digest | undefined
    if (output !== undefined) {
      const kept = await modules.outputs.keep({ files: await folderWith(output) }, environmentId, {
        prepare: async () => undefined,
        record: (made, bytes) => modules.builds.built(id, made, bytes),
      })
      digest = kept.digest
    }
    const { state = 'SUCCEEDED', isOver = true } = more
    if (isOver) {
      await sql.transaction((tx) => modules.builds.end(tx, id, { state, durations: {}, failure: null }))
      await finish(operationId)
    }
    await clock.advance(1000)
    return { id, operationId, output: digest as Digest, archive: given.archive.digest }
  }

  /** As `createSwitch` does it. */
  async function goLive({ id }: Environment, deployment: Deployment) {
    await sql.transaction(async (tx) => {
      const before = (await modules.environments.byId(tx, id))?.liveDeployment
      if (before && before !== deployment.id) await modules.deployments.setRetired(tx, before)
      await modules.environments.setLive(tx, id, deployment.id)
      await modules.deployments.setLive(tx, deployment.id)
    })
    await clock.advance(1000)
  }

  async function deploymentOf(of: Environment, buildId: string, operationId: string): Promise<Deployment> {
    const path = { accountId: of.accountId, environmentId: of.id }
    return modules.deployments.makeFor(operationId, path, { buildId, variables: [] })
  }

  /** A build that went live. */
  async function deploy(of: Environment, given: Built = {}) {
    const made = await build(of, { output: randomBytes(8).toString('hex'), ...given })
    const deployment = await deploymentOf(of, made.id, made.operationId)
    await goLive(of, deployment)
    return { ...made, deployment: deployment.id }
  }

  async function folderWith(text: string): Promise<string> {
    const folder = join(dataDir, 'made', newId())
    await write(join(folder, 'file'), text)
    return folder
  }

  async function write(path: string, text: string) {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }

  return {
    ...modules,
    blobs,
    account,
    running,
    environment,
    operation,
    finish,
    archiveOf,
    build,
    deploymentOf,
    goLive,
    deploy,
    write,
    /** The record of a deployment. */
    read: async (id: string): Promise<Deployment> => (await modules.deployments.find(sql, id)) as Deployment,
    hasOutput: (digest: Digest) => modules.outputs.has(digest),
  }
}

export type Modules = Awaited<ReturnType<typeof openModules>>
