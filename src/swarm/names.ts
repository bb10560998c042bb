/** Names and labels by which the service knows what is its own in a swarm. */
import { checkId } from '../base/index.ts'
import type { Labels } from './docker/types.ts'

export const LABELS = {
  cluster: 'headland.cluster',
  deployment: 'headland.deployment',
  environment: 'headland.environment',
  account: 'headland.account',
  region: 'headland.region',
  generation: 'headland.generation',
  /** How often in a row the service was started anew after Swarm had given up. */
  retries: 'headland.retries',
} as const

/** The label of a node that says where it is. The operator sets it. */
export const REGION_LABEL = 'region'

/** The network of apps, and the configuration of it that each node has. */
export const NETWORK = 'hl-apps'
export const NETWORK_CONFIG = 'hl-apps-here'
/** The bridge on each node, by which firewall rules find it. */
export const BRIDGE = 'hl-apps'

/** Of a name in a swarm. */
const MAX_NAME = 63
const CLUSTER = /^[a-z0-9](?:[a-z0-9-]{0,10}[a-z0-9])?$/
const REGION = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?$/

export function checkCluster(cluster: string): string {
  if (!CLUSTER.test(cluster)) throw new Error(`not the id of a cluster: ${JSON.stringify(cluster).slice(0, 80)}`)
  return cluster
}

/** It becomes part of a placement constraint. */
export function checkRegion(region: string): string {
  if (!REGION.test(region)) throw new Error(`not a region: ${JSON.stringify(region).slice(0, 80)}`)
  return region
}

export const prefixOf = (cluster: string): string => `hl-${checkCluster(cluster)}-`

/** Not checked, so that one record with a wrong id does not stop the others: `checkedServiceName` is used to make one. */
export const serviceName = (cluster: string, deployment: string): string => prefixOf(cluster) + deployment

export const checkedServiceName = (cluster: string, deployment: string): string =>
  checkName(serviceName(cluster, checkId(deployment)))

/** Secrets never change: other variables have another generation. */
export const secretName = (cluster: string, { deployment, generation }: Generation, part: number): string =>
  checkName(`${checkedServiceName(cluster, deployment)}-${generation}-${part}`)

type Generation = { deployment: string; generation: number }

function checkName(name: string): string {
  if (name.length > MAX_NAME) throw new Error(`${name} is longer than a name in a swarm can be`)
  return name
}

export const labelsOf = (cluster: string, { deployment, generation }: Generation): Labels => ({
  [LABELS.cluster]: checkCluster(cluster),
  [LABELS.deployment]: deployment,
  [LABELS.generation]: String(generation),
})
