/** Opens what the settings name. */
import { type Clock, type Secret, systemClock } from '../base/index.ts'
import type { Sql } from '../storage/index.ts'
import { createImages } from './images.ts'
import type { LayerLimits } from './layers/unpack.ts'
import { createRegistryClient } from './registry/client.ts'

export type RegistrySettings = {
  /** With the path above the repositories. */
  registry: string
  registryUser: string
  registryPassword: Secret | undefined
  registryPlainHttp: boolean
  registryTimeout: number
}

export function openRegistryClient(settings: RegistrySettings, userAgent: string, clock: Clock = systemClock) {
  const { registry, registryUser, registryPassword, registryPlainHttp, registryTimeout } = settings
  return createRegistryClient({
    clock,
    origin: new URL(registry).origin,
    login: registryPassword && { user: registryUser, password: registryPassword },
    allowsPlainHttp: registryPlainHttp,
    userAgent,
    timeoutMs: registryTimeout * 1000,
  })
}

type Parts = {
  sql: Sql
  clock: Clock
  settings: RegistrySettings
  folder: string
  limits: LayerLimits
  userAgent: string
}

export const prefixOf = (registry: string): string => new URL(registry).pathname.replaceAll(/^\/+|\/+$/g, '')

export function openImages({ sql, clock, settings, folder, limits, userAgent }: Parts) {
  const client = openRegistryClient(settings, userAgent, clock)
  return createImages({ sql, clock, client, prefix: prefixOf(settings.registry), folder, limits })
}
