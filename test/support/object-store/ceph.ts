/** Starts Ceph on loopback, for as long as a test runs: a monitor, one store in memory, and the gateway that speaks S3. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { openSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Secret } from '../../../src/base/index.ts'
import { createClient } from '../../../src/storage/blobs/s3/client.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { until } from '../until.ts'
import { cephEnvironment, cephLibraries } from './ceph-packages.ts'

const run = promisify(execFile)

export const CEPH_KEYS = { keyId: 'AKCEPHTESTS', secret: 'a+secret/of=ceph' }
export const CEPH_BUCKET = 'headland-test'
export const CEPH_REGION = 'default'

export type Ceph = Awaited<ReturnType<typeof startCeph>>

export async function startCeph(t: Scope) {
  const folder = await temporaryFolder(t)
  const env = { ...process.env, ...cephEnvironment(), CEPH_CONF: join(folder, 'ceph.conf') }
  const [monitorPort, port] = [await freePort(), await freePort()]
  const fsid = randomUUID()
  for (const name of ['mon', 'osd', 'run']) await mkdir(join(folder, name))
  await writeFile(join(folder, 'ceph.conf'), settings({ folder, fsid, monitorPort, port }))
  const options = { env, timeout: 90_000 }
  /** If one fails, the test has no clean-up yet that would end the others. */
  const program = (name: string, ...args: string[]) =>
    run(name, args, options).catch((error) => {
      endAll()
      throw error
    })
  const running = new Set<ChildProcess>()
  // Also if the test process ends without its clean-up.
  const endAll = () => {
    for (const child of running) child.kill('SIGKILL')
  }
  process.once('exit', endAll)
  t.after(async () => {
    process.off('exit', endAll)
    await Promise.all([...running].map(end))
  })

  function start(name: string, ...args: string[]): ChildProcess {
    const output = openSync(join(folder, `${name}.out`), 'a')
    const child = spawn(name, [...args, '-f'], { env, stdio: ['ignore', output, output] })
    running.add(child)
    return child
  }

  async function end(child: ChildProcess) {
    running.delete(child)
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }

  const map = join(folder, 'monmap')
  await program('monmaptool', '--create', '--addv', 'a', `[v1:127.0.0.1:${monitorPort}]`, '--fsid', fsid, map)
  await program('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map)
  start('ceph-mon', '-i', 'a')
  const storeId = randomUUID()
  await program('ceph', 'osd', 'new', storeId)
  await program('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', storeId)
  start('ceph-osd', '-i', '0')
  await program('ceph', 'osd', 'crush', 'add', 'osd.0', '1', 'root=default', 'host=a')
  const user = ['user', 'create', '--uid=tests', '--display-name=tests']
  const { keyId, secret } = CEPH_KEYS
  await program('radosgw-admin', ...user, `--access-key=${keyId}`, `--secret-key=${secret}`)
  const endpoint = `http://127.0.0.1:${port}`
  let gateway: ChildProcess | undefined

  async function startGateway() {
    gateway = start('radosgw', '-n', 'client.rgw')
    await until(
      () =>
        fetch(endpoint).then(
          (answer) => answer.ok,
          () => false,
        ),
      'the gateway answers',
    )
  }

  await startGateway()
  const client = createClient({
    ...{ endpoint: new URL(endpoint), bucket: CEPH_BUCKET, region: CEPH_REGION, isPathStyle: true },
    ...{ keyId, secret: new Secret(secret) },
  })
  await client.ask({ method: 'PUT', key: '' }, 60_000)
  client.close()
  return {
    endpoint,
    region: CEPH_REGION,
    bucket: CEPH_BUCKET,
    ...CEPH_KEYS,
    /** As if the machine of the gateway were gone; what is stored stays. */
    stop: async () => gateway && end(gateway),
    startAgain: startGateway,
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

type Places = { folder: string; fsid: string; monitorPort: number; port: number }

function settings({ folder, fsid, monitorPort, port }: Places): string {
  const libraries = cephLibraries()
  return `[global]
fsid = ${fsid}
mon_initial_members = a
mon_host = v1:127.0.0.1:${monitorPort}
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_msgr2 = false
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
run_dir = ${folder}/run
admin_socket = ${folder}/run/$name.asok
log_file = ${folder}/$name.log
mon_cluster_log_file = ${folder}/cluster.log
mon_data = ${folder}/mon
mon_data_avail_crit = 1
mon_allow_pool_size_one = true
osd_data = ${folder}/osd
osd_objectstore = memstore
memstore_device_bytes = 4294967296
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_crush_chooseleaf_type = 0
osd_crush_update_on_start = false
osd_class_update_on_start = false
osd_class_dir = ${libraries}/rados-classes
osd_class_load_list = *
osd_class_default_list = *
plugin_dir = ${libraries}/ceph
erasure_code_dir = ${libraries}/ceph/erasure-code
rgw_gc_obj_min_wait = 5
rgw_gc_processor_period = 5
rgw_gc_processor_max_time = 5
rgw_frontends = beast endpoint=127.0.0.1:${port}
`
}
