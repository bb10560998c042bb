/** The service of a deployment in Docker's words, as a pure function: what an app may do and use is decided here. */
import { dockerSeccomp } from '../../engines/index.ts'
import type { DesiredApp } from '../desired.ts'
import type { MountSpec, SecretReference, ServiceSpec } from '../docker/types.ts'
import { checkedServiceName, checkRegion, LABELS, labelsOf, NETWORK, REGION_LABEL } from '../names.ts'
import { LAUNCH, portText, VARIABLES_PATH, variablesFile } from './launch.ts'

export type SpecOptions = {
  cluster: string
  /** Those of the variables, in order. */
  secrets: readonly { id: string; name: string }[]
}

const MS = 1_000_000
const DIGEST = /^[^\s@]+@sha256:[0-9a-f]{64}$/
const MAX_REPLICAS = 100

/** Swarm starts an app again at once, a few times; after that the reconciler does, after pauses that grow. */
export const RESTARTS = { delayMs: 1000, attempts: 3, windowMs: 60_000 }
/** Written by the engine on the node's disk: the lines of an app reach the service in another way. */
const ENGINE_LOG = { Name: 'local', Options: { 'max-size': '1m', 'max-file': '2' } }

const SECCOMP = Buffer.from(JSON.stringify(dockerSeccomp())).toString('base64')

export function specOf(app: DesiredApp, { cluster, secrets }: SpecOptions): ServiceSpec {
  check(app)
  const { uid, gid } = app.user
  return {
    Name: checkedServiceName(cluster, app.deployment),
    Labels: {
      ...labelsOf(cluster, app),
      [LABELS.environment]: app.environment,
      [LABELS.account]: app.account,
      [LABELS.region]: app.region,
      [LABELS.retries]: '0',
    },
    TaskTemplate: {
      ContainerSpec: {
        Image: app.image,
        Labels: { [LABELS.cluster]: cluster, [LABELS.deployment]: app.deployment },
        Command: ['/bin/sh', '-c', LAUNCH, VARIABLES_PATH],
        Args: [portText(app.port), ...app.writable, '--', ...app.command],
        User: `${uid}:${gid}`,
        ReadOnly: true,
        Init: true,
        StopGracePeriod: app.stopGraceMs * MS,
        CapabilityDrop: ['ALL'],
        Privileges: { NoNewPrivileges: true, Seccomp: { Mode: 'custom', Profile: SECCOMP } },
        // The service asks apps itself: Docker's own checks delay every start by seconds.
        Healthcheck: { Test: ['NONE'] },
        Mounts: mountsOf(app),
        Secrets: secrets.map((secret, part) => toReference(secret, part, app)),
      },
      Resources: {
        Limits: { MemoryBytes: app.memoryBytes, NanoCPUs: app.nanoCpus, Pids: app.pids },
        Reservations: { MemoryBytes: app.reservedMemoryBytes },
      },
      // Not "on-failure": an app that ends without an error has ended as well, and apps of a lost node start elsewhere.
      RestartPolicy: {
        Condition: 'any',
        Delay: RESTARTS.delayMs * MS,
        MaxAttempts: RESTARTS.attempts,
        Window: RESTARTS.windowMs * MS,
      },
      Placement: { Constraints: [`node.labels.${REGION_LABEL}==${app.region}`] },
      Networks: [{ Target: NETWORK }],
      LogDriver: ENGINE_LOG,
      ForceUpdate: 0,
    },
    Mode: { Replicated: { Replicas: app.replicas } },
    UpdateConfig: { Parallelism: 0, Order: 'stop-first', FailureAction: 'continue' },
    EndpointSpec: {
      // Without an address of the service, which needs the network of the swarm.
      Mode: 'dnsrr',
      Ports: [{ Protocol: 'tcp', TargetPort: app.port, PublishMode: 'host' }],
    },
  }
}

/** Limits of 0 would be none, and the image comes out of a record. */
function check({ image, region, replicas, command, memoryBytes, nanoCpus, pids, user, ...app }: DesiredApp) {
  if (!DIGEST.test(image)) throw new Error('the image of an app is named by its digest')
  checkRegion(region)
  if (!Number.isInteger(replicas) || replicas < 0 || replicas > MAX_REPLICAS)
    throw new Error(`${replicas} is no number of replicas`)
  const [program = ''] = command
  // `env` would take it for a variable or an option.
  if (program === '' || program.includes('=') || program.startsWith('-'))
    throw new Error(`${JSON.stringify(program)} is no program to start`)
  const limits = [memoryBytes, nanoCpus, pids, app.scratchBytes, user.uid, user.gid, app.port]
  if (!limits.every((value) => Number.isSafeInteger(value) && value > 0))
    throw new Error('limits, ports and users of an app are whole numbers above 0')
}

const toReference = (
  { id, name }: SpecOptions['secrets'][number],
  part: number,
  { user: { uid, gid } }: DesiredApp,
): SecretReference => ({
  SecretID: id,
  SecretName: name,
  File: { Name: variablesFile(part), UID: String(uid), GID: String(gid), Mode: 0o400 },
})

/**
 * Folders in memory with a size: a swarm has no other limit for what an app writes on a node. They begin empty, and the first
 * process fills them. A volume in memory is no choice: Swarm makes one of each that nothing ever removes.
 */
const mountsOf = ({ writable, scratchBytes }: DesiredApp): MountSpec[] =>
  ['/tmp', ...writable].map((path) => {
    if (!/^\/[^/]/.test(path) || path.split('/').includes('..')) throw new Error(`${path} is no folder of an image`)
    return { Type: 'tmpfs', Target: path, TmpfsOptions: { SizeBytes: scratchBytes, Mode: 0o1777 } }
  })
