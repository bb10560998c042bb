/** A service with a registry, and an edge as on another machine: with a data folder of its own, and nothing but the network between. */
import { freePort } from '../certificates/pebble.ts'
import { type Scope, temporaryFolder } from '../folder.ts'
import { LOGIN, startRegistry } from '../images/registry.ts'
import { startRegistryProxy } from '../images/registry-proxy.ts'
import { startService } from './service.ts'

export async function startOtherMachine(t: Scope) {
  const registry = await startRegistry(t, { hasPassword: true })
  /** Between the edge and the registry. */
  const proxy = await startRegistryProxy(t, registry.url)
  const address = `127.0.0.1:${await freePort()}`
  const registrySettings = (url: string) => ({
    HEADLAND_REGISTRY: `${url}/sites`,
    HEADLAND_REGISTRY_USER: LOGIN.user,
    HEADLAND_REGISTRY_PASSWORD: LOGIN.password,
  })
  const settings = { ...registrySettings(registry.url), HEADLAND_CLUSTER_LISTEN: address }
  const control = await startService(t, { settings })
  const token = (await control.operator('cluster', 'token', 'edge', 'sydney-1')).trim()
  const dataDir = await temporaryFolder(t)
  const startEdge = (scope: Scope) =>
    startService(scope, {
      dataDir,
      settings: {
        ...registrySettings(proxy.url),
        HEADLAND_ROLES: 'edge',
        HEADLAND_CONTROL_ADDRESSES: address,
        HEADLAND_CLUSTER_TOKEN: token,
      },
    })
  return { registry, proxy, control, startEdge, edge: await startEdge(t) }
}
