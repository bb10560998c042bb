/** Whether an environment is pinned, in words. A service of an earlier version says nothing of it. */
import type { Environment, Pin } from '../../client/index.ts'
import { oneLine } from './rows.ts'

type Pinned = Partial<Pick<Environment, 'pin'>>

/** The pin as a fact of an environment; empty where there is none. */
export function pinOf({ pin }: Pinned, when: (time: string) => string): string {
  if (!pin) return ''
  return `archive ${archiveIn(pin)} of deployment ${oneLine(idIn(pin.deployment))}, since ${when(pin.time)}; 'headland unpin' ends it`
}

/** What a rebuild does while there is a pin. */
export const noteOnRebuild = ({ pin }: Pinned): string | undefined =>
  pin
    ? `A rollback pinned this environment, so the archive ${archiveIn(pin)} is built and not the newest upload. 'headland unpin' ends that.`
    : undefined

/** What becomes of a pin by an upload. */
export const noteOnUpload = ({ pin }: Pinned): string | undefined =>
  pin
    ? `A rollback pinned this environment to the archive ${archiveIn(pin)}. The pin ends when this upload is live.`
    : undefined

/** What a rollback left behind. */
export const noteOnActivation = ({ pin }: Pinned): string | undefined =>
  pin
    ? `It is not of the newest upload, so the environment is pinned to it: rebuilds and webhooks build its archive ${archiveIn(pin)}, until an upload is live or 'headland unpin'.`
    : undefined

/** The beginning is enough to compare archives. */
const archiveIn = ({ archive }: Pin): string => oneLine(archive.replace(/^sha256:/, '').slice(0, 12))

const idIn = (name: string): string => name.slice(name.lastIndexOf('/') + 1)
