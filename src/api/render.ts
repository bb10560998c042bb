/**
 * Records as the contract shows them. Environments are described in `deployments/`, which also records them in
 * operations.
 */
import type { Account, Credential, Invitation, Member } from '../accounts/index.ts'
import { type App, appEtag } from '../apps/index.ts'
import { toRfc3339 } from '../base/index.ts'
import type { Build, Contacts, FromSnapshot, HeldReason, Suspected } from '../builds/index.ts'
import { helpPage, names, PROBLEMS, resources } from '../contract/index.ts'
import { type DeploymentHead, detailsOf, isActivatable, type Origin } from '../deployments/index.ts'
import type { Operation, Waiting } from '../operations/index.ts'
import type { InstanceStatus } from '../runtime/index.ts'

export const renderApp = (account: Account, app: App): resources.App => ({
  name: names.appResource({ account: account.name, app: app.name }),
  region: app.region,
  uploadable: {},
  previews: renderPreviews(account, app),
  createTime: toRfc3339(app.createTime),
  etag: appEtag(app),
})

function renderPreviews(account: Account, { name, previews }: App): resources.ShownPreviewSettings {
  const { isEnabled, environment, hasSecrets, maxCount, idleDays } = previews
  const at = { account: account.name, app: name }
  return {
    enabled: isEnabled,
    environment: environment === null ? '' : names.environmentResource({ ...at, environment }),
    secrets: hasSecrets,
    maxCount,
    idleDays,
  }
}

type OperationContext = {
  /** Its position in the queue. */
  queuePosition?: number
  /** Why it has not started. */
  waiting?: Waiting | undefined
  /** The triggers that it satisfies. */
  triggers?: { ids: string[]; count: number }
}

export function renderOperation(
  account: Account,
  operation: Operation,
  { queuePosition = 0, waiting, triggers }: OperationContext = {},
): resources.Operation {
  const at = { account: account.name, app: operation.appName, environment: operation.environmentId }
  return {
    name: names.operationResource(at, operation.id),
    metadata: {
      '@type': resources.OPERATION_METADATA_TYPE,
      build: names.buildResource(at, operation.build),
      deployment: operation.deployment ? names.deploymentResource(at, operation.deployment) : '',
      ...(operation.isUnchanged ? { unchanged: true } : {}),
      createTime: toRfc3339(operation.createTime),
      phase: operation.phase,
      trigger: operation.trigger,
      requestedBy: operation.requestedBy,
      ...renderDescribed(operation),
      ...(queuePosition > 0 ? { queuePosition } : {}),
      ...(waiting ? { waiting: renderWaiting(waiting) } : {}),
      ...(operation.notBefore !== null && operation.phase === 'QUEUED'
        ? { settlesUntil: toRfc3339(operation.notBefore) }
        : {}),
      ...(triggers
        ? { triggers: triggers.ids.map((id) => names.triggerResource(at, id)), triggerCount: triggers.count }
        : {}),
    },
    done: operation.doneTime !== null,
    ...(operation.response === null ? {} : { response: operation.response as Record<string, unknown> }),
    ...(operation.error === null ? {} : { error: operation.error }),
  }
}

/** For a caller with a webhook's token: without the environment, and without people and what they wrote. */
export function renderForToken(account: Account, operation: Operation) {
  const { response: _, metadata, ...shown } = renderOperation(account, operation)
  const { requestedBy: _who, message: _message, commit: _commit, ...facts } = metadata
  return { ...shown, metadata: facts }
}

const BUILDING: readonly resources.Trigger[] = ['UPLOAD', 'REBUILD', 'CLEAN_REBUILD']

function renderWaiting({ reason, ahead, of }: Waiting): resources.Waiting {
  const builds = `${ahead.toLocaleString('en')} ${ahead === 1 ? 'build' : 'builds'}`
  const messages: Record<resources.WaitingReason, string> = {
    QUIET_PERIOD: 'Waiting for further calls: it begins when none comes for a while.',
    ENVIRONMENT: `Waiting for another ${of && BUILDING.includes(of) ? 'build' : 'change'} of this environment.`,
    MACHINE: `Waiting for ${builds} ahead of it on this machine.`,
    NEXT: 'It is the next to begin.',
  }
  return { reason, ahead, message: messages[reason] }
}

export const renderCredential = (account: Account, credential: Credential): resources.Credential => ({
  name: names.credentialResource(account.name, credential.id),
  userId: credential.id,
  displayName: credential.displayName,
  role: credential.role,
  createTime: toRfc3339(credential.createTime),
})

export const renderUser = (account: Account, { id, email, role, state, createTime }: Member): resources.User => ({
  name: names.userResource(account.name, id),
  email,
  role,
  state,
  createTime: toRfc3339(createTime),
})

export const renderInvitation = (invitation: Invitation): resources.Invitation => ({
  name: names.invitationResource(invitation.id),
  account: names.accountResource(invitation.account.name),
  role: invitation.role,
  inviter: invitation.inviter,
  createTime: toRfc3339(invitation.createTime),
})

type BuildExtras = { waiting?: Waiting | undefined; image?: string | undefined }

export function renderBuild(
  at: names.EnvironmentPath,
  build: Build,
  { waiting, image }: BuildExtras = {},
): resources.Build {
  return {
    name: names.buildResource(at, build.id),
    state: build.state,
    phase: build.phase,
    trigger: build.trigger,
    clean: build.isClean,
    unchanged: build.isUnchanged,
    requestedBy: build.requestedBy,
    ...renderDescribed(build.archive),
    ...renderPromotion(at, build.archive),
    archive: renderArchive(build.archive),
    ...(build.plan ? { plan: build.plan as unknown as Record<string, unknown> } : {}),
    ...(build.tools ? { tools: renderTools(build.tools) } : {}),
    warnings: build.warnings,
    caches: build.caches,
    ...(build.contacts ? { contacts: build.contacts.map(renderContact) } : {}),
    ...(build.isHeld && build.suspected
      ? { held: renderHeld(build.suspected, build.heldReason ?? 'SUSPICIOUS_OUTPUT') }
      : {}),
    ...(build.fromSnapshot ? { fromSnapshot: renderFromSnapshot(at, build.fromSnapshot) } : {}),
    ...(waiting ? { waiting: renderWaiting(waiting) } : {}),
    ...(image === undefined ? {} : { image }),
    createTime: toRfc3339(build.createTime),
    ...(build.startTime === null ? {} : { startTime: toRfc3339(build.startTime) }),
    ...(build.finishTime === null ? {} : { finishTime: toRfc3339(build.finishTime) }),
    durations: Object.fromEntries(Object.entries(build.durations).map(([phase, ms]) => [phase, ms / 1000])),
    ...(build.failure ? { failure: build.failure } : {}),
    ...(build.firstFailure ? { firstFailure: build.firstFailure } : {}),
  }
}

/** If the sender gave no message, the subject of the commit is shown. */
const renderDescribed = ({ message, commit = null }: Partial<resources.Described>): resources.Described => ({
  message: message || (commit?.subject ?? ''),
  commit,
})

function renderPromotion(at: names.EnvironmentPath, { promotion }: Pick<Build['archive'], 'promotion'>) {
  if (!promotion) return {}
  const from = { ...at, environment: promotion.environment }
  const promotedFrom: resources.PromotedFrom = {
    environment: names.environmentResource(from),
    displayName: promotion.displayName,
    build: names.buildResource(from, promotion.build),
  }
  return { promotedFrom }
}

const renderFromSnapshot = (
  at: names.EnvironmentPath,
  { build, time, failed, message }: FromSnapshot,
): resources.FromSnapshot => ({
  build: names.buildResource(at, build),
  time: toRfc3339(time),
  host: `${failed.host}:${failed.port}`,
  message,
})

const renderArchive = ({ digest, bytes, files }: Build['archive']) => ({ digest, bytes, files })

function renderHeld(suspected: Suspected, reason: HeldReason): resources.Held {
  const { unreachable, lostPages } = detailsOf(suspected)
  return {
    reason,
    message: suspected.sentences.join(' '),
    todo: PROBLEMS[reason].todo,
    page: helpPage(reason),
    unreachable: unreachable.map(({ host, port, outcome }) => ({ host, ...(port === null ? {} : { port }), outcome })),
    ...(lostPages ? { lostPages } : {}),
  }
}

const renderContact = ({ host, addresses, protocol, port, isNew, isRefused, outcome }: Contacts[number]) => ({
  ...(host === null ? {} : { host }),
  addresses: [...addresses],
  protocol,
  ...(port === null ? {} : { port }),
  new: isNew,
  refused: isRefused,
  ...(outcome === undefined ? {} : { outcome }),
})

const renderTools = ({ node, packageManager }: NonNullable<Build['tools']>) => ({
  node,
  ...(packageManager ? { packageManager: `${packageManager.name} ${packageManager.version}` } : {}),
})

export function renderDeployment(
  at: names.EnvironmentPath,
  deployment: DeploymentHead,
  { trigger, requestedBy, archive }: Origin,
  running: InstanceStatus | undefined,
): resources.Deployment {
  return {
    name: names.deploymentResource(at, deployment.id),
    build: names.buildResource(at, deployment.buildId),
    trigger,
    requestedBy,
    ...renderDescribed(archive),
    ...renderPromotion(at, archive),
    archive: renderArchive(archive),
    state: deployment.state,
    activatable: isActivatable(deployment),
    ...(running ? { instance: { state: running.state, running: running.running, restarts: running.restarts } } : {}),
    createTime: toRfc3339(deployment.createTime),
    ...(deployment.liveTime === null ? {} : { liveTime: toRfc3339(deployment.liveTime) }),
    ...(deployment.retireTime === null ? {} : { retireTime: toRfc3339(deployment.retireTime) }),
  }
}
