/** A service over several machines: control processes and workers with data folders of their own, and what they share. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createTokens } from '../../../src/apps/index.ts'
import { CLUSTER_KEY_PLACE, joinToken } from '../../../src/channel/index.ts'
import { createVault } from '../../../src/storage/index.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { startRegistry } from '../images/registry.ts'
import { BUCKET, KEYS, startS3Server } from '../object-store/s3-server.ts'
import { settingsFor } from '../object-store/service.ts'
import { startPostgres } from '../postgres/server.ts'
import { startService, type TestService } from './service.ts'

type Settings = Record<string, string>

/** Starts what all machines of one service share. */
export async function startShared(t: Scope, { registryHost = '127.0.0.1', isDurable = false } = {}) {
  const server = await startPostgres(t, { isDurable })
  const store = await startS3Server(t)
  const registry = await startRegistry(t, { host: registryHost })
  const masterKey = randomBytes(32)
  const vault = createVault(masterKey)
  const settings: Settings = {
    HEADLAND_DATABASE_URL: await server.createDatabase(),
    HEADLAND_MASTER_KEY: masterKey.toString('base64'),
    HEADLAND_REGISTRY: registry.url,
    HEADLAND_REGISTRY_PLAIN_HTTP: 'true',
    ...settingsFor({ ...store, bucket: BUCKET, ...KEYS }, 'service'),
  }
  const onSwarm: Settings = {
    ...settings,
    HEADLAND_ENGINE: 'swarm',
    HEADLAND_IN_APP_URL: 'http://127.0.0.1:9',
    // No engine is there. Static sites need none.
    HEADLAND_DOCKER_SOCKET: join(await temporaryFolder(t), 'docker.sock'),
  }

  return {
    server,
    store,
    registry,
    settings,
    /** As `headland cluster token` prints it, but in this process: the command costs more than what it does. */
    joinTokenOf: (role: string, name: string): string => joinToken(vault.derive(CLUSTER_KEY_PLACE), { role, name }),
    /** The token with which the app of an environment uses its key-value store. */
    kvTokenOf: (environmentId: string): string => createTokens({ vault }).of(environmentId, 'kv-store'),
    control: (more: Settings = {}, dataDir?: string): Promise<TestService> =>
      startService(t, {
        ...(dataDir === undefined ? {} : { dataDir }),
        settings: {
          ...onSwarm,
          HEADLAND_ROLES: 'control',
          HEADLAND_CLUSTER_LISTEN: '127.0.0.1:0',
          HEADLAND_IN_APP_LISTEN: '127.0.0.1:0',
          ...more,
        },
      }),
    worker: (more: Settings = {}, dataDir?: string): Promise<TestService> =>
      startService(t, {
        ...(dataDir === undefined ? {} : { dataDir }),
        settings: { ...onSwarm, HEADLAND_ROLES: 'worker', ...more },
      }),
  }
}
