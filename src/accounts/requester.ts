/**
 * The names under which requesters are recorded: as they are at that time, so that the name stays after its owner is
 * removed.
 */
import { LIMITS, type resources } from '../contract/index.ts'

export const userRequester = ({ email }: { email: string }): resources.Requester => ({
  kind: 'USER',
  name: shortened(email),
})

export const credentialRequester = ({ displayName }: { displayName: string }): resources.Requester => ({
  kind: 'CREDENTIAL',
  name: shortened(displayName),
})

const shortened = (name: string): string => name.slice(0, LIMITS.requesterLength).toWellFormed()
