import { CLUSTER_KEY_PLACE, joinToken, TokenRefused } from '../../channel/index.ts'
import { JSON_OPTION, table, UsageError } from '../../contract/index.ts'
import { createTokenRecords } from '../../deployments/index.ts'
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
    const { sql, clock } = await services()
    const vault = await openVault(sql, folder.masterKey)
    const key = vault.derive(CLUSTER_KEY_PLACE)
    checkName(key, { role, name })
    const generation = await createTokenRecords({ sql, clock }).made({ role, name })
    print(joinToken(key, { role, name, generation }))
    return 0
  },
}

function checkName(key: string, identity: { role: string; name: string }) {
  try {
    joinToken(key, identity)
  } catch (error) {
    throw error instanceof TokenRefused ? new UsageError(`NAME: ${error.message}`) : error
  }
}

export const clusterRevoke: Command = {
  name: 'cluster revoke',
  positionals: ['ROLE', 'NAME'],
  summary: 'Make all tokens of a machine invalid, and end its connections; the next token for it works again',
  options: {},
  async run({ positionals: [role = '', name = ''], services, print }) {
    if (!ROLES.includes(role)) throw new UsageError(`ROLE is one of: ${ROLES.join(', ')}`)
    checkName('', { role, name })
    const { sql, clock } = await services()
    await createTokenRecords({ sql, clock }).revoke({ role, name })
    print(`The tokens of ${role} ${name} are revoked. 'headland cluster token ${role} ${name}' makes another one.`)
    return 0
  },
}

export const clusterTokens: Command = {
  name: 'cluster tokens',
  positionals: [],
  summary: 'List the machines for which tokens were made or revoked; the tokens themselves are not shown',
  options: JSON_OPTION,
  async run({ options, services, print }) {
    const { sql, clock } = await services()
    const all = await createTokenRecords({ sql, clock }).all()
    const shown = all.map(({ role, name, makeTime, revokeTime }) => ({
      ...{ role, name },
      makeTime: timeOf(makeTime),
      revokeTime: timeOf(revokeTime),
    }))
    if (options.json) print(JSON.stringify(shown))
    else if (shown.length === 0) print('No token was made.')
    else
      print(
        table(
          shown.map(({ role, name, makeTime, revokeTime }) => ({
            ...{ role, name },
            token: makeTime === null ? 'none' : `made ${makeTime}`,
            revoked: revokeTime === null ? '-' : `those before ${revokeTime}`,
          })),
        ),
      )
    return 0
  },
}

const timeOf = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString())

export const clusterStatus: Command = {
  name: 'cluster status',
  positionals: [],
  summary: 'Show control processes, edges, nodes and what is being built, and what is wrong with them',
  options: JSON_OPTION,
  run: async (call) => (await import('../cluster/show.ts')).show(call),
}
