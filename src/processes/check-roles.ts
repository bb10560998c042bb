/**
 * Whether the settings fit the roles that a machine is to have. It is found out before anything is started: a process that lacks
 * something would be started again without end.
 */
import { readJoinToken } from '../channel/index.ts'
import { Refused } from '../contract/index.ts'
import { dockerAddressOf } from '../settings/swarm.ts'
import type { Config, Role } from '../settings.ts'

export function checkRoles(config: Config) {
  if (config.engine === 'swarm') checkSwarm(config)
  else if (config.roles.includes('worker'))
    throw new Refused('The role worker needs engine swarm. On one machine, the role agent builds.')
  checkFollower(config)
}

const ROLES_OF_SWARM: readonly Role[] = ['control', 'worker', 'edge', 'node']

/** What all control processes and workers share, or need to be reached. */
const NEEDED: Partial<Record<Role, readonly (keyof Config)[]>> = {
  control: ['databaseUrl', 'objectStore', 'registry', 'clusterListen', 'inAppListen', 'inAppUrl'],
  worker: ['databaseUrl', 'objectStore', 'registry', 'inAppUrl'],
  edge: ['controlAddresses'],
  node: ['controlAddresses'],
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

/** Edges and nodes of other machines than the control process. */
function checkFollower({ roles, controlAddresses, clusterToken }: Config) {
  if (roles.includes('node') && (roles.length > 1 || controlAddresses.length === 0))
    throw new Refused('The role node is for a machine without another role, and needs controlAddresses.')
  // A worker has the master key, and makes its token itself.
  if (controlAddresses.length === 0 || roles.join() === 'worker') return
  const [role = ''] = roles
  if (!['edge', 'node'].includes(roles.join()))
    throw new Refused('controlAddresses is for a machine that has edges and no other role. Set roles to edge.')
  if (!clusterToken)
    throw new Refused(`controlAddresses needs clusterToken. Make one with 'headland cluster token ${role} NAME' there.`)
  const token = readJoinToken(clusterToken.reveal())
  if (token.role !== role)
    throw new Refused(`The token of clusterToken is for the role ${token.role}, and not for ${role}.`)
}
