import { JSON_OPTION, type OptionForm, requiredOption, resources, UsageError } from '../../contract/index.ts'
import type { Command, CommandCall } from '../command.ts'

export const ROLE_OPTION: OptionForm = {
  type: 'string',
  oneOf: resources.ROLES,
  describe: 'owner, developer or viewer; developer unless given.',
}

export const usersCreate: Command = {
  name: 'users create',
  audited: 'ADD_USER',
  positionals: ['EMAIL'],
  summary: 'Make a user of the portal, or let one join another account',
  options: {
    account: { type: 'string', describe: 'The account to join.' },
    role: ROLE_OPTION,
    ...JSON_OPTION,
  },
  async run({ positionals: [email = ''], options, services, print }) {
    if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 254) throw new UsageError('EMAIL must be an e-mail address')
    const account = requiredOption(options, 'account')
    const { password } = await (await services()).users.create(email, account, roleOption(options))
    if (options.json) print(JSON.stringify({ email, password: password?.reveal() ?? null }))
    else if (password) print(`Made the user ${email}. Password, shown this once: ${password.reveal()}`)
    else print(`${email} now belongs to ${account} too, with the password they have.`)
    return 0
  },
}

export const usersResetPassword: Command = {
  name: 'users reset-password',
  audited: 'RESET_PASSWORD',
  positionals: ['EMAIL'],
  summary: 'Give a user a new password and end their sessions',
  options: JSON_OPTION,
  async run({ positionals: [email = ''], options, services, print }) {
    const { password } = await (await services()).users.resetPassword(email)
    if (options.json) print(JSON.stringify({ email, password: password.reveal() }))
    else print(`New password of ${email}, shown this once: ${password.reveal()}`)
    return 0
  },
}

export function roleOption({ role = 'developer' }: CommandCall['options']): resources.Role {
  const found = resources.ROLES.find((known) => known === role)
  if (!found) throw new UsageError(`--role must be one of ${resources.ROLES.join(', ')}`)
  return found
}
