/** How a service finds on this machine what it made, and nothing of another: by a digest of its data folder. */
import { createHash } from 'node:crypto'

/** Interfaces of all services. */
export const LINK_PREFIX = 'hl-'

/** Short, as a name of an interface has 15 characters at most. */
export const idOf = (folder: string): string => createHash('sha256').update(folder).digest('hex').slice(0, 6)

export const tableOf = (id: string): string => `headland_${id}`

export const isTable = (name: string): boolean => /^headland_[0-9a-f]{6}$/.test(name)

/**
 * The anchor holds the gateway's address. A view's interface is its prefix and a number; those that may call the service have
 * a prefix of their own, by which the rules know them. That is 15 characters for the longest number.
 */
export const interfacesOf = (id: string) => ({
  anchor: `${LINK_PREFIX}${id}`,
  views: `${LINK_PREFIX}${id}-`,
  callers: `${LINK_PREFIX}${id}-a`,
})
