/** The names under which those who ask are recorded: as they are at that time, so that a name outlives its owner. */
import { LIMITS, names, type resources } from '../contract/index.ts'
import type { User } from './users.ts'

export const userRequester = ({ email }: User): resources.Requester => ({ kind: 'USER', name: shortened(email) })

export const credentialRequester = (credential: { id: string; displayName: string }): resources.Requester => ({
  kind: 'CREDENTIAL',
  name: shortened(credential.displayName) || names.shortId(credential.id),
})

const shortened = (name: string): string => name.slice(0, LIMITS.requesterLength).toWellFormed()
