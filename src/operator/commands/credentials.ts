import { JSON_OPTION, requiredOption } from '../../contract/index.ts'
import type { Command } from '../command.ts'
import { ROLE_OPTION, roleOption } from './users.ts'

export const credentialsCreate: Command = {
  name: 'credentials create',
  audited: 'CREATE_CREDENTIAL',
  positionals: [],
  summary: 'Issue a user id and password for the API',
  options: {
    account: { type: 'string', describe: 'The account they are for.' },
    role: ROLE_OPTION,
    shell: { type: 'boolean', describe: 'Print lines for a shell to evaluate.' },
    ...JSON_OPTION,
  },
  async run({ options, services, print }) {
    const accountName = requiredOption(options, 'account')
    const role = roleOption(options)
    const { accounts, credentials } = await services()
    const account = await accounts.byName(accountName)
    const { credential, password } = await credentials.issue(account.id, { role, displayName: 'made by the operator' })
    if (options.json) print(JSON.stringify({ userId: credential.id, password: password.reveal() }))
    else if (options.shell) {
      print(`export HEADLAND_API_USER=${credential.id}\nexport HEADLAND_API_PASSWORD=${password.reveal()}`)
    } else print(`User id   ${credential.id}\nPassword  ${password.reveal()}\n\nThe password is shown this once.`)
    return 0
  },
}
