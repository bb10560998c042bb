/** What a backup costs, beside the least that reads the same files and has a digest of them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { notifyBelow } from '../src/apps/index.ts'
import { createBuilds } from '../src/builds/index.ts'
import { filesIn } from '../src/data-files.ts'
import { openDatabase } from '../src/data-folder.ts'
import { openDiskBlobs } from '../src/storage/blobs/blobs-disk.ts'
import { type Digest, openVault } from '../src/storage/index.ts'
import { type Bench, IS_QUICK, median } from './bench.ts'
import { treeCpuMs } from './cpu.ts'
import { seedEnvironments } from './seed.ts'
import { environmentOf, PROJECT, temporaryFolder } from './service.ts'

const ROUNDS = IS_QUICK ? 1 : 5
const SITES = 4
/** Rows of the database that no file belongs to. */
const ENVIRONMENTS = IS_QUICK ? 50 : 5000
const FILES_OF_A_SITE = IS_QUICK ? 20 : 500
const ARCHIVE_BYTES = IS_QUICK ? 1_000_000 : 75_000_000
/** From a script of a page to a picture. */
const FILE_BYTES = [300, 1500, 6000, 40_000]

const run = promisify(execFile)

export const backup: Bench = {
  name: 'backup',
  what: `headland backup of ${SITES} sites of ${FILES_OF_A_SITE} files, their archives of ${ARCHIVE_BYTES / 1e6} MB each and ${ENVIRONMENTS} environments, beside tar | sha256sum of the same folder`,
  noise: `CPU time by the kernel, both in turns, medians of ${ROUNDS} rounds after a first one; the files are in memory`,
  async run() {
    await using folder = await temporaryFolder()
    const dataDir = join(folder.path, 'data')
    await seed(dataDir)
    const file = join(folder.path, 'backup.tar')
    const backUp = async () => {
      const { stdout } = await run(
        process.execPath,
        [join(PROJECT, 'bin/headland'), 'backup', file, '--force', '--json'],
        {
          env: environmentOf(dataDir),
        },
      )
      const { files, missing } = JSON.parse(stdout)
      assert.ok(files > SITES * FILES_OF_A_SITE)
      assert.deepEqual(missing, [])
    }
    const peer = () => run('sh', ['-c', 'tar --create --file=- "$1" | sha256sum', 'sh', dataDir])
    const toFile = () => run('sh', ['-c', 'tar --create --file=- "$1" | tee "$2" | sha256sum', 'sh', dataDir, file])
    const costs = { ours: [] as number[], peer: [] as number[], toFile: [] as number[] }
    for (let round = 0; round <= ROUNDS; round++) {
      const cost = { ours: await cpuMsOf(backUp), peer: await cpuMsOf(peer), toFile: await cpuMsOf(toFile) }
      // The first reads the files from the disk.
      if (round > 0) for (const name of ['ours', 'peer', 'toFile'] as const) costs[name].push(cost[name])
      await rm(file)
    }
    const what = 'CPU of a backup'
    const ours = median(costs.ours)
    return [
      { what, unit: 'ms', ours, peer: median(costs.peer), beside: 'tar | sha256sum', goal: { of: 'ratio', max: 1.5 } },
      { what, unit: 'ms', ours, peer: median(costs.toFile), beside: 'tar | tee FILE | sha256sum' },
    ]
  },
}

/** Of the programs that it starts and waits for. */
async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = treeCpuMs(process.pid)
  await work()
  return treeCpuMs(process.pid) - before
}

/** A data folder as builds leave it. */
async function seed(dataDir: string) {
  const { sites } = await seedEnvironments(dataDir, { others: ENVIRONMENTS, sites: SITES })
  const database = await openDatabase(dataDir)
  const { sql, newId, environments, operations } = database
  await openVault(sql, { file: filesIn(dataDir).masterKey, given: undefined })
  const builds = createBuilds({ ...database, notifyBelow, requestersOf: operations.requestersOf })
  const blobs = await openDiskBlobs(filesIn(dataDir).blobs)
  for (const environmentId of sites) {
    const environment = await environments.byId(sql, environmentId)
    assert.ok(environment)
    const { accountId, appName } = environment
    const archive = { ...(await blobs.put(Readable.from([randomBytes(ARCHIVE_BYTES)]))), files: 1 }
    const output: Digest = `sha256:${randomBytes(32).toString('hex')}`
    const id = newId()
    await sql.transaction(async (tx) => {
      const { id: operationId } = await operations.request(tx, { accountId, appName, environmentId }, 'UPLOAD')
      const given = { id, operationId, trigger: 'UPLOAD' as const, isClean: false, archive }
      await builds.insert(tx, { accountId, environmentId }, given)
    })
    await builds.built(id, output, { bytes: 1, files: FILES_OF_A_SITE })
    await sql.transaction((tx) => builds.end(tx, id, { state: 'SUCCEEDED', durations: {}, failure: null }))
    await writeSite(join(filesIn(dataDir).outputs, output.slice('sha256:'.length), 'files'))
  }
  await sql.close()
}

async function writeSite(folder: string) {
  for (let n = 0; n < FILES_OF_A_SITE; n++) {
    const section = join(folder, `section-${n % 20}`)
    await mkdir(section, { recursive: true })
    await writeFile(join(section, `page-${n}.html`), randomBytes(FILE_BYTES[n % FILE_BYTES.length] as number))
  }
}
