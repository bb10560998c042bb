/**
 * Whether the settings fit the roles that a machine is to have. It is found out before anything is started: a process that lacks
 * something would be started again without end.
 */
import { readJoinToken } from '../channel/index.ts'
import { Refused } from '../contract/index.ts'
import type { Config, Role } from '../settings.ts'
import { dockerAddressOf } from '../swarm-settings.ts'

export function checkRoles(config: Config) {
  if (config.engine === 'swarm') checkSwarm(config)
  else if (config.roles.includes('worker'))
    throw new Refused('The role worker needs engine swarm. On one machine, the role agent builds.')
  checkEdge(config)
}

const ROLES_OF_SWARM: readonly Role[] = ['control', 'worker', 'edge']

/** What all control processes and workers share, or need to be reached. */
const NEEDED: Partial<Record<Role, readonly (keyof Config)[]>> = {
  control: ['databaseUrl', 'objectStore', 'registry', 'clusterListen', 'inAppListen', 'inAppUrl'],
  worker: ['databaseUrl', 'objectStore', 'registry', 'inAppUrl'],
  edge: ['controlAddresses'],
}

function checkSwarm(config: Config) {
  const [role, ...others] = config.roles
  if (role === undefined || others.length > 0 || !ROLES_OF_SWARM.includes(role))
    throw new Refused(
      `With engine swarm, a machine has one role, and roles is ${config.roles.join(',')}. Set it to one of ${ROLES_OF_SWARM.join(', ')}.`,
    )
  const missing = (NEEDED[role] ?? []).filter((name) => isMissing(config[name]))
  if (missing.length > 0) throw new Refused(`With engine swarm, the role ${role} needs ${missing.join(', ')}.`)
  if (role === 'control') dockerAddressOf(config)
}

const isMissing = (value: unknown): boolean => value === undefined || (Array.isArray(value) && value.length === 0)

function checkEdge({ roles, controlAddresses, clusterToken }: Config) {
  if (controlAddresses.length === 0) return
  if (roles.join() !== 'edge')
    throw new Refused('controlAddresses is for a machine that has edges and no other role. Set roles to edge.')
  if (!clusterToken)
    throw new Refused("controlAddresses needs clusterToken. Make one with 'headland cluster token edge NAME' there.")
  const { role } = readJoinToken(clusterToken.reveal())
  if (role !== 'edge') throw new Refused(`The token of clusterToken is for the role ${role}, and not for edge.`)
}
