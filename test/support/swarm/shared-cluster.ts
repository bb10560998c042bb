/**
 * A whole cluster for files of tests that run in one process. It is started when the first file asks for it, and ends when all
 * tests are over.
 */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { NEEDS_REGISTRY } from '../images/registry.ts'
import { inReverse } from '../machine/docker-engine.ts'
import { NEEDS_OWN_NETWORK } from '../machine/own-network.ts'
import { NEEDS_SWARM } from '../machine/swarm.ts'
import { NEEDS_WAY_OUT, openWayOut } from '../machine/way-out.ts'
import { NEEDS_POSTGRES } from '../postgres/server.ts'
import { type Cms, startCms } from '../service/cms.ts'
import type { Login } from '../service/service.ts'
import { until } from '../until.ts'
import { startWhole, type Whole } from './whole.ts'

/** The option of a test that needs it. */
export const skip = NEEDS_OWN_NETWORK.skip || NEEDS_SWARM.skip || NEEDS_REGISTRY.skip || NEEDS_POSTGRES.skip

/** What is added last ends first. */
export const scope = inReverse({ after })

/**
 * Far more than a busy machine needs. Without them, an installation or a build that does not get on would take half an hour,
 * and the whole run with it.
 */
const BOUNDS = { HEADLAND_INSTALL_TIMEOUT: '360', HEADLAND_BUILD_TIMEOUT: '360' }

export type Shared = {
  cluster: Whole
  /** Of the account of everything. */
  as: Login
  /** Builds and apps may call it. */
  cms: Cms
}

let shared: Promise<Shared> | undefined

/** No app is left in it by a file. */
export function sharedCluster(): Promise<Shared> {
  shared ??= open()
  return shared
}

async function open(): Promise<Shared> {
  if (!NEEDS_WAY_OUT.skip) await openWayOut(scope)
  const cms = await startCms(scope)
  const cluster = await startWhole(scope, { mayCall: [cms.network], settings: BOUNDS })
  return { cluster, cms, as: await cluster.controls[0].login() }
}

/** For the next file. */
export async function removeApps({ cluster, as }: Shared) {
  const [one] = cluster.controls
  const { json } = await one.call('/v1/accounts/default/apps', { as })
  for (const { name } of json.apps ?? []) {
    const removed = await one.call(`/v1/${name}?force=true`, { method: 'DELETE', as })
    assert.equal(removed.status, 200, removed.text)
  }
  await until(async () => (await cluster.swarm.docker.services({})).length === 0, 'no service is left')
}
