/** The routes of environments, as they are in the database now. */
import { join } from 'node:path'
import type { CookieKeys, Domain, Domains, Environments, RoutableEnvironment } from '../apps/index.ts'
import type { Clock } from '../base/index.ts'
import type { BuildOutput, Outputs } from '../builds/index.ts'
import {
  type Access,
  type EnvironmentRoutes,
  MANIFEST_NAME,
  type RouteTarget,
  type StoredOutput,
} from '../edge/index.ts'
import type { Images } from '../images/index.ts'
import { indexDigestOf, isIndexName } from './earlier-index-name.ts'
import type { Folders } from './folders.ts'
import type { Deployments } from './records/deployments.ts'

/** A statement takes a limited number of values. */
const AT_A_TIME = 500

export type RouteParts = {
  clock: Pick<Clock, 'now'>
  environments: Pick<Environments, 'routable' | 'labelsIn'>
  cookieKeyOf: CookieKeys
  domains: Pick<Domains, 'routed'>
  deployments: Pick<Deployments, 'outputsOf' | 'earlierIndexesOf' | 'earlierIn'>
  outputs: Pick<Outputs, 'filesOf' | 'edgeFolderOf'>
  /** Given where edges of other machines get the files of static sites from a registry. */
  images?: Pick<Images, 'referencesOf'> | undefined
  /** How long such edges serve files of a deployment that was discarded; 0: they serve none of earlier deployments. */
  keepEarlierMs?: number
  folders: Pick<Folders, 'earlier'>
  domain: string
}

/** What live deployments are made of, by deployment. */
type Made = {
  outputs: ReadonlyMap<string, BuildOutput>
  /** References of images, by output. */
  images: ReadonlyMap<string, string>
  indexes: ReadonlyMap<string, string>
  /** Outputs of earlier deployments that are in the registry, by environment. */
  earlier: ReadonlyMap<string, readonly StoredOutput[]>
}

/** Each is fetched by each edge of another machine where the site is in use. */
const MAX_EARLIER = 5

export function createReadRoutes(parts: RouteParts) {
  const {
    clock,
    environments,
    cookieKeyOf,
    domains,
    deployments,
    outputs,
    images,
    folders,
    domain,
    keepEarlierMs = 0,
  } = parts

  /** Of all environments where none are named. */
  async function readRoutes(ids?: readonly string[]): Promise<EnvironmentRoutes[]> {
    const routable = await environments.routable(ids)
    const live = routable.flatMap(({ liveDeployment }) => liveDeployment ?? [])
    const liveOutputs = await deployments.outputsOf(live)
    const made = {
      outputs: liveOutputs,
      images: await imagesOf([...liveOutputs.values()]),
      indexes: await deployments.earlierIndexesOf(live),
      earlier: await earlierOf(routable, liveOutputs),
    }
    const custom = await withoutOwnHosts(await domains.routed(ids))
    const found = routable.map((environment) => routesOf(environment, custom.get(environment.id) ?? [], made))
    const routed = new Set(routable.map(({ id }) => id))
    const removed = (ids ?? []).filter((id) => !routed.has(id))
    return [...found, ...removed.map((environment) => ({ environment, hosts: {} }))]
  }

  async function imagesOf(made: readonly BuildOutput[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    const wanted = images ? made.flatMap(({ kind, output }) => (kind === 'static' ? output : [])) : []
    for (let from = 0; from < wanted.length; from += AT_A_TIME)
      for (const [output, image] of (await images?.referencesOf(wanted.slice(from, from + AT_A_TIME))) ?? [])
        found.set(output, image)
    return found
  }

  /** Of static sites: the files of servers are in images that are too large for edges. */
  async function earlierOf(routable: readonly RoutableEnvironment[], live: ReadonlyMap<string, BuildOutput>) {
    const found = new Map<string, readonly StoredOutput[]>()
    if (!images || keepEarlierMs === 0) return found
    const isStatic = ({ liveDeployment }: RoutableEnvironment) =>
      liveDeployment !== null && live.get(liveDeployment)?.kind === 'static'
    const sites = routable.filter(isStatic).map(({ id }) => id)
    const earlier = await deployments.earlierIn(sites, { after: clock.now() - keepEarlierMs, limit: MAX_EARLIER })
    const made = await deployments.outputsOf([...earlier.values()].flat())
    const references = await imagesOf([...made.values()])
    for (const [environment, ids] of earlier) {
      const digests = new Set(ids.flatMap((id) => made.get(id)?.output ?? []))
      const stored = [...digests].flatMap((digest) => {
        const image = references.get(digest)
        return image === undefined ? [] : { digest, image }
      })
      found.set(environment, stored)
    }
    return found
  }

  /** After a change of the domain, a custom name may be the own host of another environment, which wins. */
  async function withoutOwnHosts(custom: Map<string, Domain[]>): Promise<Map<string, Domain[]>> {
    const suffix = `.${domain}`
    const inside = [...custom.values()].flat().filter(({ name }) => name.endsWith(suffix))
    if (inside.length === 0) return custom
    const labels = await environments.labelsIn(inside.map(({ name }) => name.slice(0, -suffix.length)))
    const isFree = ({ name }: Domain) => !name.endsWith(suffix) || !labels.has(name.slice(0, -suffix.length))
    return new Map([...custom].map(([id, names]) => [id, names.filter(isFree)]))
  }

  function routesOf(environment: RoutableEnvironment, custom: readonly Domain[], made: Made): EnvironmentRoutes {
    const { id, hostLabel, liveDeployment, learnedCaching: learned } = environment
    const answering = targetOf(id, liveDeployment, made)
    const keeping = answering.kind === 'server' && learned ? { learned } : {}
    const target = { ...answering, ...keeping, ...earlierFilesOf(id, liveDeployment, made) }
    const hosts: Record<string, RouteTarget> = { [`${hostLabel}.${domain}`]: target }
    for (const { name, redirectTo } of custom)
      hosts[name] = redirectTo === null ? target : { kind: 'redirect', environment: id, to: redirectTo }
    const access = accessOf(environment)
    return { environment: id, hosts, ...(access ? { access } : {}) }
  }

  /** Undefined for an environment that everybody may see and find. */
  function accessOf({ id, isProduction, protection }: RoutableEnvironment): Access | undefined {
    const { passwordHash: hash, addresses } = protection
    const isProtected = hash !== null || addresses.length > 0
    if (isProduction && !isProtected) return undefined
    const password = hash === null ? {} : { password: { hash, cookieKey: cookieKeyOf(id, hash) } }
    return {
      ...(isProduction ? {} : { isHidden: true }),
      ...(isProtected ? { protection: { ...password, ...(addresses.length > 0 ? { addresses } : {}) } } : {}),
    }
  }

  function targetOf(
    environment: string,
    deployment: string | null,
    { outputs: found, images, earlier }: Made,
  ): RouteTarget {
    const made = deployment === null ? undefined : found.get(deployment)
    // Without an output, it was deleted between the two queries: the next publication does not have it.
    if (deployment === null || !made) return { kind: 'empty', environment }
    if (made.kind === 'server') return { kind: 'server', environment, deployment }
    const manifest = join(outputs.edgeFolderOf(made.output), MANIFEST_NAME)
    const image = images.get(made.output)
    const stored =
      image === undefined
        ? {}
        : { output: { digest: made.output, image }, ...earlierOutputs(made.output, earlier.get(environment) ?? []) }
    return { kind: 'static', environment, deployment, folder: outputs.filesOf(made.output), manifest, ...stored }
  }

  function earlierOutputs(live: string, stored: readonly StoredOutput[]) {
    const outputs = stored.filter(({ digest }) => digest !== live)
    if (outputs.length === 0) return {}
    return { earlier: { digest: indexDigestOf([live, ...outputs.map(({ digest }) => digest)]), outputs } }
  }

  function earlierFilesOf(environment: string, deployment: string | null, { indexes }: Made) {
    const index = deployment === null ? undefined : indexes.get(deployment)
    const isUsable = index !== undefined && isIndexName(index)
    return isUsable ? { earlierFiles: join(folders.earlier(environment), index) } : {}
  }

  return readRoutes
}
