/** The users that code of tenants runs as: one for each environment, far above those of a machine, and never root. */
export const TENANT_UIDS = { min: 200_001, max: 2_000_000_000 }

export const isTenantUid = (uid: unknown): uid is number =>
  Number.isInteger(uid) && (uid as number) >= TENANT_UIDS.min && (uid as number) <= TENANT_UIDS.max

/** A uid comes from a stored record: a program is started and a file is given away only after this. */
export function checkTenantUid(uid: number): number {
  if (isTenantUid(uid)) return uid
  throw new Error(
    `${uid} is not the user of an environment: those are ${TENANT_UIDS.min} to ${TENANT_UIDS.max}. The database was changed by something else than the service; restore it from a backup that you trust.`,
  )
}
