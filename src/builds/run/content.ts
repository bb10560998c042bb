/** Where a build gets the content of its CMS through a program of the service, which records it. */
import { join } from 'node:path'
import type { Engine, Job, Mount, NetworkNamespace } from '../../engines/index.ts'
import type { Plan } from '../plan/plan.ts'
import type { Toolchain } from '../toolchain/index.ts'
import type { Runner } from './step.ts'
import { WORK, type Workspace } from './workspace.ts'

type Place = {
  engine: Engine
  network: NetworkNamespace
  user: Job['user']
  workspace: Workspace
  cwd: string
  mountedAt: string
  extraCertificates: string | undefined
  machineCertificates: string | undefined
}

export type Begun = {
  environment: Record<string, string>
  mounts: Mount[]
  /** Aborted when the build is to end. */
  signal: AbortSignal
  end(): Promise<void>
}

/** Begun before the programs of the build step, and ended after them. */
export type RunContent = { begin(place: Place): Promise<Begun> }

type Given = {
  content?: RunContent | undefined
  plan: Plan
  workspace: Workspace
  toolchain: Toolchain
  variables: Readonly<Record<string, string>>
}

/** Undefined where nothing is recorded. */
export async function beginContent(
  { engine, network, user, log }: Runner,
  { content, plan, workspace, toolchain, variables }: Given,
): Promise<Begun | undefined> {
  if (!content) return undefined
  if (!network || !engine.isIsolating || !workspace.isLayered) {
    log.say(
      'BUILDING',
      'Warning: what the CMS answers is not recorded, since this machine has no networks or layers for builds (headland doctor says why).',
    )
    return undefined
  }
  const { NODE_EXTRA_CA_CERTS: machineCertificates } = toolchain.environment as Record<string, string | undefined>
  return content.begin({
    ...{ engine, network, user, workspace, machineCertificates },
    cwd: join(WORK, plan.rootDirectory),
    mountedAt: WORK,
    extraCertificates: variables.NODE_EXTRA_CA_CERTS,
  })
}
