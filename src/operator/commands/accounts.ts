import { printableLine, toRfc3339 } from '../../base/index.ts'
import { JSON_OPTION, names, table, UsageError } from '../../contract/index.ts'
import type { Command } from '../command.ts'

export const accountsCreate: Command = {
  name: 'accounts create',
  audited: 'CREATE_ACCOUNT',
  positionals: ['NAME'],
  summary: 'Make an account',
  options: JSON_OPTION,
  async run({ positionals: [name = ''], options, services, print }) {
    if (!new RegExp(String(names.accountName.pattern)).test(name)) {
      throw new UsageError(`an account's name is ${names.accountName.description}`)
    }
    await (await services()).accounts.create(name)
    print(options.json ? JSON.stringify({ account: name }) : `Made the account ${name}.`)
    return 0
  },
}

export const accountsList: Command = {
  name: 'accounts list',
  positionals: [],
  summary: 'List the accounts',
  options: JSON_OPTION,
  async run({ options, services, print }) {
    const accounts = await (await services()).accounts.list()
    const rows = accounts.map(({ name, create_time }) => ({
      account: printableLine(name),
      created: toRfc3339(create_time),
    }))
    print(options.json ? JSON.stringify(rows) : table(rows))
    return 0
  },
}
