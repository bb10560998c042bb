/** What a member may do in an account. */
import { oneOf } from './schema.ts'

export const ROLES = ['viewer', 'developer', 'owner'] as const
export type Role = (typeof ROLES)[number]
export const role = oneOf(ROLES, { description: 'What the caller may do: read, write, or also hand out access.' })
