/** Of which ends of operations teams are told: pure. */
import type { Reason, resources } from '../../contract/index.ts'

export type BuildNoticeKind = 'BUILD_FAILED' | 'BUILD_RECOVERED' | 'BUILD_LIVE'

export type OperationEnd = {
  trigger: resources.Trigger
  buildId: string
  /** Why it did not succeed; SUSPICIOUS_OUTPUT or CHECK_FAILED if the build is held. Null if it did. */
  reason: Reason | null
  requestedBy: resources.Requester | null
  /** Visitors got the same output already. */
  isUnchanged: boolean
  /** The rebuild that the service will request, or has given up, for the environment. */
  retry: { buildId: string; nextTime: number | null } | undefined
}

const OF_BUILDS: ReadonlySet<resources.Trigger> = new Set<resources.Trigger>(['UPLOAD', 'REBUILD', 'CLEAN_REBUILD'])
const CALLED_OFF: ReadonlySet<Reason> = new Set<Reason>(['OPERATION_CANCELLED', 'SUPERSEDED', 'ENVIRONMENT_NOT_FOUND'])

/** BUILD_RECOVERED is among those of each success: it is a notice only where teams were told of a failure before. */
export function noticesOf(end: OperationEnd): BuildNoticeKind[] {
  // Users made live what was built before.
  if (end.trigger === 'ACTIVATE' || end.trigger === 'PROMOTE') return end.reason === null ? ['BUILD_LIVE'] : []
  if (!OF_BUILDS.has(end.trigger)) return []
  if (end.reason !== null) return CALLED_OFF.has(end.reason) || isToBeRepeated(end) ? [] : ['BUILD_FAILED']
  return end.isUnchanged ? ['BUILD_RECOVERED'] : ['BUILD_RECOVERED', 'BUILD_LIVE']
}

/**
 * Whether the service builds it again by itself. A held build waits for a decision of a user all the same, so teams are told
 * of the first one.
 */
function isToBeRepeated({ buildId, reason, requestedBy, retry }: OperationEnd): boolean {
  const isByService = requestedBy?.kind === 'SERVICE'
  if (reason === 'SUSPICIOUS_OUTPUT') return isByService
  // Broken pages alone are no reason to build it again.
  if (reason === 'CHECK_FAILED') return isByService && retry !== undefined && retry.nextTime !== null
  return retry !== undefined && retry.nextTime !== null && (isByService || retry.buildId === buildId)
}
