/** Names of interfaces and tables. A digest of the data folder in them tells services on one machine apart. */
import { createHash } from 'node:crypto'

/** Interfaces of all services. */
export const LINK_PREFIX = 'hl-'

/** Short, as a name of an interface has 15 characters at most. */
export const idOf = (folder: string): string => createHash('sha256').update(folder).digest('hex').slice(0, 6)

export const tableOf = (id: string): string => `headland_${id}`

export const isTable = (name: string): boolean => /^headland_[0-9a-f]{6}$/.test(name)

/**
 * `gatewayLink` is the interface with the gateway's address. The interface of a job's namespace is a prefix and a number; jobs
 * that may call the service have a prefix of their own, by which the rules match them. The longest number makes 15 characters.
 */
export const interfacesOf = (id: string) => ({
  gatewayLink: `${LINK_PREFIX}${id}`,
  namespaces: `${LINK_PREFIX}${id}-`,
  callers: `${LINK_PREFIX}${id}-a`,
})
