/**
 * The user ids that tenants' code runs as: one for each environment, far above those of the machine, and never root.
 */
export const TENANT_UIDS = { min: 200_001, max: 2_000_000_000 }

export const isTenantUid = (uid: unknown): uid is number =>
  Number.isInteger(uid) && (uid as number) >= TENANT_UIDS.min && (uid as number) <= TENANT_UIDS.max

/** A uid comes from a stored record: it is used for a process or a file only after this check. */
export function checkTenantUid(uid: number): number {
  if (isTenantUid(uid)) return uid
  throw new Error(
    `${uid} is not the user of an environment: those are ${TENANT_UIDS.min} to ${TENANT_UIDS.max}. The database was changed by something else than the service; restore it from a backup that you trust.`,
  )
}
