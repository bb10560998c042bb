import { names, requiredOption, UsageError } from '../../contract/index.ts'
import type { Command } from '../command.ts'

export const cmsSet: Command = {
  name: 'cms set',
  audited: 'CHANGE_CMS',
  positionals: ['NAME', 'URL'],
  summary: 'Register the address of a content-management install',
  options: { account: { type: 'string', describe: 'The account whose environments may name it.' } },
  async run({ positionals: [name = '', url = ''], options, services, print }) {
    if (name.length > 100 || !new RegExp(String(names.cmsEnvironmentName.pattern), 'u').test(name)) {
      throw new UsageError('NAME is one line of at most 100 characters')
    }
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new UsageError('URL must be http or https')
    const accountName = requiredOption(options, 'account')
    const { accounts, cmsInstalls } = await services()
    const account = await accounts.byName(accountName)
    await cmsInstalls.set(account.id, name, url)
    print(`Environments of ${accountName} with cmsEnvironment ${name} find it at ${url}.`)
    return 0
  },
}
