import { CLUSTER_KEY_PLACE, joinToken, TokenRefused } from '../../channel/index.ts'
import { JSON_OPTION, UsageError } from '../../contract/index.ts'
import { openVault } from '../../storage/index.ts'
import type { Command } from '../command.ts'

/** What can run on a machine without the database and the master key. */
const ROLES = ['edge', 'node']

export const clusterToken: Command = {
  name: 'cluster token',
  positionals: ['ROLE', 'NAME'],
  summary:
    'Print the token with which processes of another machine connect; ROLE is edge or node, NAME that of the machine',
  options: {},
  async run({ positionals: [role = '', name = ''], services, folder, print }) {
    if (!ROLES.includes(role)) throw new UsageError(`ROLE is one of: ${ROLES.join(', ')}`)
    const { sql } = await services()
    const vault = await openVault(sql, folder.masterKey)
    try {
      print(joinToken(vault.derive(CLUSTER_KEY_PLACE), { role, name }))
    } catch (error) {
      throw error instanceof TokenRefused ? new UsageError(`NAME: ${error.message}`) : error
    }
    return 0
  },
}

export const clusterStatus: Command = {
  name: 'cluster status',
  positionals: [],
  summary: 'Show control processes, edges, nodes and what is being built, and what is wrong with them',
  options: JSON_OPTION,
  run: async (call) => (await import('../cluster/show.ts')).show(call),
}
