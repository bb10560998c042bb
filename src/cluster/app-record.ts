/** An app as it is written into its row: what the scheduler shows anyway in clear, and the rest sealed. */
import { posix } from 'node:path'
import { TENANT_UIDS } from '../base/index.ts'
import { checkTenant, heapWithin } from '../engines/index.ts'
import {
  type InstanceRecord,
  type InstanceRequest,
  imageHookVariables,
  isToldRevalidations,
  outermost,
} from '../runtime/index.ts'
import type { Vault } from '../storage/index.ts'
import type { DesiredApp } from '../swarm/index.ts'
import type { AppRow, ServiceShape } from './rows.ts'

/** What only the service may read. */
export type AppSecrets = Pick<InstanceRecord, 'variables' | 'log'>

/** The folder of the app in an image, and the port that it listens on. */
const APP = '/app'
const PORT = 3000
/** Half a minute of it is for requests in flight. */
const STOP_GRACE_MS = 45_000
/** A node may have one processor, and refuses a higher limit than that. */
const NANO_CPUS = 1_000_000_000
/** Everything in /tmp and in writable folders is memory of the app. */
const SCRATCH_SHARE = 0.5

/** Where the service chooses no users, since it is not root: every image can be run by any. */
const ANY_USER = { uid: TENANT_UIDS.min, gid: TENANT_UIDS.min }

export const serviceOf = ({
  build,
  argv,
  writable,
  limits,
  user,
  hostHeader,
  variables,
}: InstanceRequest): ServiceShape => ({
  build,
  command: argv,
  writable: outermost(writable).map((path) => posix.join(APP, path)),
  memoryBytes: limits.memoryBytes,
  pids: limits.processes,
  user: user ?? ANY_USER,
  scratchBytes: Math.floor(limits.memoryBytes * SCRATCH_SHARE),
  hostHeader,
  ...(isToldRevalidations(variables) ? { isToldPurges: true } : {}),
})

/** As the program is started on one machine: the app's own variables, except those that it must not choose. PATH is the image's. */
export function variablesOf({
  variables,
  limits,
}: Pick<InstanceRequest, 'variables' | 'limits'>): Record<string, string> {
  const { PATH: _, ...own } = variables
  return {
    ...heapWithin(limits),
    ...own,
    HOME: '/tmp',
    TMPDIR: '/tmp',
    NODE_ENV: 'production',
    NEXT_TELEMETRY_DISABLED: '1',
    PORT: String(PORT),
    HOST: '0.0.0.0',
    HOSTNAME: '0.0.0.0',
    NITRO_HOST: '0.0.0.0',
  }
}

export async function secretsOf(request: InstanceRequest): Promise<AppSecrets> {
  const expiries = await request.expiries?.()
  const own = variablesOf(request)
  return { variables: { ...own, ...imageHookVariables({ variables: own, expiries }) }, log: request.log }
}

const placeOf = (deployment: string): string => `cluster_apps/${deployment}`

export const sealSecrets = (vault: Pick<Vault, 'seal'>, deployment: string, secrets: AppSecrets): string =>
  vault.seal(JSON.stringify(secrets), placeOf(deployment))

export const openSecrets = (vault: Pick<Vault, 'open'>, deployment: string, sealed: string): AppSecrets =>
  JSON.parse(vault.open(sealed, placeOf(deployment))) as AppSecrets

/** Rows are not trusted: a user of the machine itself is refused here, and everything else by the scheduler's side. */
export const desiredOf = ({ service, ...app }: AppRow): DesiredApp => ({
  deployment: app.deployment,
  environment: app.environment,
  account: app.account,
  image: app.image,
  command: service.command,
  region: app.region,
  replicas: Math.max(app.replicas, app.kept),
  memoryBytes: service.memoryBytes,
  reservedMemoryBytes: 0,
  nanoCpus: NANO_CPUS,
  pids: service.pids,
  port: PORT,
  user: checkTenant(service.user),
  writable: service.writable,
  scratchBytes: service.scratchBytes,
  stopGraceMs: STOP_GRACE_MS,
  generation: app.generation,
})

/** Whether its instances can only learn the difference by a start. */
export function isOtherProgram(
  one: Pick<AppRow, 'service' | 'image' | 'region'> & { secrets: AppSecrets },
  other: Pick<AppRow, 'service' | 'image' | 'region'> & { secrets: AppSecrets },
): boolean {
  const textOf = ({ service, image, region, secrets: { variables } }: typeof one) =>
    JSON.stringify([image, region, sorted(service), sorted(variables)])
  return textOf(one) !== textOf(other)
}

const sorted = (of: object): unknown[] => Object.entries(of).toSorted(([a], [b]) => (a < b ? -1 : 1))
