/**
 * What the service asks of Docker's engine: services, tasks, secrets, nodes and networks of a swarm. The version of the API
 * is fixed, so that a newer engine answers as this one does.
 */
import { type Secret as Hidden, systemClock } from '../../base/index.ts'
import { Problem } from '../../contract/index.ts'
import { isOutOfSequence } from './failure.ts'
import { outputIn, type TaskOutput } from './log-frames.ts'
import { type Ask, createTransport, type TransportOptions } from './transport.ts'
import type {
  Container,
  ContainerMemory,
  EngineInfo,
  Labels,
  Network,
  NetworkSpec,
  Service,
  ServiceSpec,
  SwarmCluster,
  SwarmNode,
  SwarmSecret,
  Task,
} from './types.ts'

/** The first version with seccomp profiles and no-new-privileges for services: that of Docker 25. */
export const API_VERSION = '1.44'

/** A service has its whole specification twice where it was changed, and so does each of its tasks once. */
const MAX_LIST_BYTES = 256 * 1024 * 1024
const MAX_TRIES = 5
const TRY_AGAIN_MS = 20

/** Conditions of a list: any of the values of each. */
export type Filters = Readonly<Record<string, readonly string[]>>

/** Undefined leaves it as it is. Asked again where another writer came between. */
type Changed<T> = T | undefined | Promise<T | undefined>

export type LogsAsked = { since: number; isFollowed: boolean; signal: AbortSignal }

export type DockerOptions = TransportOptions & {
  /** Where images need it: nodes pull with it. */
  registryLogin?: { user: string; password: Hidden; registry: string } | undefined
}

export function createDocker({ registryLogin, ...options }: DockerOptions) {
  const transport = createTransport(options)
  const at = (path: string): string => `/v${API_VERSION}${path}`

  const ask = async <T>(asked: Ask): Promise<T> => (await transport.ask({ ...asked, path: at(asked.path) })) as T

  const list = async <T>(path: string, filters: Filters): Promise<T[]> =>
    (await ask<T[] | null>({
      method: 'GET',
      path,
      query: { filters: JSON.stringify(filters) },
      maxBytes: MAX_LIST_BYTES,
    })) ?? []

  const inspect = <T>(path: string): Promise<T> => ask<T>({ method: 'GET', path })

  async function remove(path: string) {
    await ask({ method: 'DELETE', path })
  }

  const withLogin = () =>
    registryLogin
      ? {
          'x-registry-auth': padded(
            JSON.stringify({
              username: registryLogin.user,
              password: registryLogin.password.reveal(),
              serveraddress: registryLogin.registry,
            }),
          ),
        }
      : {}

  /** Reads, changes and writes; where another writer came between, all of it again. */
  async function change<T extends { Version: { Index: number } }>(
    read: () => Promise<T>,
    write: (found: T, version: string) => Promise<unknown>,
  ): Promise<void> {
    for (let tries = 1; ; tries++) {
      const found = await read()
      try {
        await write(found, String(found.Version.Index))
        return
      } catch (error) {
        if (tries >= MAX_TRIES || !isOutOfSequence(error)) throw error
        await systemClock.sleep(TRY_AGAIN_MS * tries)
      }
    }
  }

  return {
    /** Rejects where the engine is too old to isolate apps, or is no manager of a swarm. */
    async check(): Promise<void> {
      const { ApiVersion: version = '0', Version: engine = '?' } = (await transport.ask({
        method: 'GET',
        path: '/version',
      })) as { ApiVersion?: string; Version?: string }
      if (isOlder(version, API_VERSION))
        throw new Problem(
          'ISOLATION_MISSING',
          `Docker ${engine} cannot isolate the apps of a cluster: its API is ${version}, and ${API_VERSION} is needed (Docker 25 or newer).`,
        )
      const { Swarm: swarm } = await inspect<EngineInfo>('/info')
      if (!swarm.ControlAvailable)
        throw new Error(`This Docker engine is no manager of a swarm (its state is ${swarm.LocalNodeState}).`)
    },

    info: () => inspect<EngineInfo>('/info'),

    /** Ports of this machine that lead to containers which run. */
    async publishedPorts(): Promise<number[]> {
      const found = await list<{ Ports?: { PublicPort?: number }[] }>('/containers/json', {})
      return found.flatMap(({ Ports }) => (Ports ?? []).flatMap(({ PublicPort }) => PublicPort ?? []))
    },

    services: (filters: Filters) => list<Service>('/services', filters),
    service: (id: string) => inspect<Service>(`/services/${encodeURIComponent(id)}`),
    createService: (spec: ServiceSpec) =>
      ask<{ ID: string }>({ method: 'POST', path: '/services/create', body: spec, headers: withLogin() }),
    changeService: (id: string, to: (service: Service) => Changed<ServiceSpec>) =>
      change(
        () => inspect<Service>(`/services/${encodeURIComponent(id)}`),
        async (found, version) => {
          const body = await to(found)
          const path = `/services/${encodeURIComponent(id)}/update`
          return body && ask({ method: 'POST', path, query: { version }, body, headers: withLogin() })
        },
      ),
    removeService: (id: string) => remove(`/services/${encodeURIComponent(id)}`),

    tasks: (filters: Filters) => list<Task>('/tasks', filters),
    /**
     * The output of a task, and if it is followed, then more as it comes. A stream that is followed may stay open when the task has
     * ended. `since`, in seconds since 1970: what is older is left out.
     */
    taskLogs: (id: string, { since, isFollowed, signal }: LogsAsked): AsyncGenerator<TaskOutput> =>
      outputIn(
        transport.stream({
          path: at(`/tasks/${encodeURIComponent(id)}/logs`),
          query: { follow: isFollowed ? '1' : '0', stdout: '1', stderr: '1', timestamps: '1', since: String(since) },
          signal,
        }),
      ),

    secrets: (filters: Filters) => list<SwarmSecret>('/secrets', filters),
    createSecret: (name: string, labels: Labels, content: Buffer) =>
      ask<{ ID: string }>({
        method: 'POST',
        path: '/secrets/create',
        body: { Name: name, Labels: labels, Data: content.toString('base64') },
      }),
    removeSecret: (id: string) => remove(`/secrets/${encodeURIComponent(id)}`),

    nodes: (filters: Filters = {}) => list<SwarmNode>('/nodes', filters),
    node: (id: string) => inspect<SwarmNode>(`/nodes/${encodeURIComponent(id)}`),
    changeNode: (id: string, to: (spec: SwarmNode['Spec']) => Changed<SwarmNode['Spec']>) =>
      change(
        () => inspect<SwarmNode>(`/nodes/${encodeURIComponent(id)}`),
        async (found, version) => {
          const body = await to(found.Spec)
          const path = `/nodes/${encodeURIComponent(id)}/update`
          return body && ask({ method: 'POST', path, query: { version }, body })
        },
      ),

    /** Of this engine's own machine, those that run. */
    containers: (filters: Filters) => list<Container>('/containers/json', filters),
    containerMemory: async (id: string): Promise<ContainerMemory> => {
      const path = `/containers/${encodeURIComponent(id)}/stats`
      const query = { stream: 'false', 'one-shot': 'true' }
      return (await ask<{ memory_stats?: ContainerMemory }>({ method: 'GET', path, query })).memory_stats ?? {}
    },

    networks: (filters: Filters) => list<Network>('/networks', filters),
    createNetwork: (spec: NetworkSpec) => ask<{ Id: string }>({ method: 'POST', path: '/networks/create', body: spec }),

    changeCluster: (to: (spec: SwarmCluster['Spec']) => Changed<SwarmCluster['Spec']>) =>
      change(
        () => inspect<SwarmCluster>('/swarm'),
        async (found, version) => {
          const body = await to(found.Spec)
          return body && ask({ method: 'POST', path: '/swarm/update', query: { version }, body })
        },
      ),

    close: () => transport.close(),
  }
}

export type Docker = ReturnType<typeof createDocker>

/** Versions have numbers with dots between them. */
export function isOlder(version: string, than: string): boolean {
  const [left, right] = [version, than].map((text) => text.split('.').map((part) => Number.parseInt(part, 10) || 0))
  for (const [index, number] of (right ?? []).entries()) {
    const difference = (left?.[index] ?? 0) - number
    if (difference !== 0) return difference < 0
  }
  return false
}

/** In the alphabet of URLs and with padding, without which Docker pulls without the log-in and does not say so. */
const padded = (text: string): string => Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_')
