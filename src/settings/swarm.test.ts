import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { loadConfig } from '../config.ts'
import { dockerAddressOf } from './swarm.ts'

const configOf = (env: Record<string, string>) => loadConfig({ env, folder: '/nowhere' }).config

test('Docker is reached by its socket, unless an address is given', () => {
  assert.deepEqual(dockerAddressOf(configOf({})), { socketPath: '/var/run/docker.sock' })
})

test('an address needs certificates, which are read', async (t) => {
  const address = { HEADLAND_SWARM_ADDRESS: 'https://10.0.0.5:2376' }
  assert.throws(() => dockerAddressOf(configOf(address)), /swarmAddress needs swarmCertificates/)
  const folder = await temporaryFolder(t)
  const config = configOf({ ...address, HEADLAND_SWARM_CERTIFICATES: folder })
  assert.throws(() => dockerAddressOf(config), /a file of the setting swarmCertificates cannot be read/i)
  for (const name of ['ca', 'cert', 'key']) await writeFile(join(folder, `${name}.pem`), name)
  assert.deepEqual(dockerAddressOf(config), {
    host: '10.0.0.5',
    port: 2376,
    tls: { ca: 'ca', cert: 'cert', key: 'key' },
  })
})

test('addresses, engines and names of clusters that cannot be are refused', () => {
  for (const [name, text] of [
    ['SWARM_ADDRESS', 'http://10.0.0.5:2376'],
    ['SWARM_ADDRESS', 'https://10.0.0.5'],
    ['SWARM_CLUSTER', 'Not A Name'],
    ['SWARM_CLUSTER', 'longer-than-12'],
    ['ENGINE', 'kubernetes'],
  ] as const)
    assert.throws(() => configOf({ [`HEADLAND_${name}`]: text }), /it must be|one of/, `${name} ${text}`)
})
