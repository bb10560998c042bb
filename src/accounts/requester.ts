/** The names under which those who ask are recorded: as they are at that time, so that a name outlives its owner. */
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
