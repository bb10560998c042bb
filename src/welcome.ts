/** The message of the very first start. */
import { auditing } from './audit/index.ts'
import type { Database } from './data-folder.ts'

/** Where there is no account yet, makes one with an owner and prints a random password, once. There is no default password. */
export async function welcome(
  { accounts, users }: Pick<Database, 'accounts' | 'users'>,
  url: string,
  domain: string,
  siteUrl: (label: string) => string,
) {
  if ((await accounts.list()).length > 0) return
  const email = `owner@${domain}`
  const audited = { action: 'CREATE_ACCOUNT', by: { kind: 'SERVICE', name: 'first start' }, way: 'OPERATOR' } as const
  const create = () => users.create(email, 'default', 'owner', { makeAccount: true })
  const made = await auditing(audited, create).catch(async (error) => {
    // Another control process has made it at the same moment, and shows the password.
    if ((await accounts.list()).length === 0) throw error
    return undefined
  })
  if (!made) return
  const { password } = made
  process.stderr.write(`
  Welcome to Headland. This is shown once:

    Address    ${url}
    Help       ${url}/docs/
    Account    default
    User       ${email}
    Password   ${password?.reveal()}
    Sites      ${siteUrl('NAME')}
${domain === 'localhost' ? LOCALHOST_NOTE : ''}
  API access: headland credentials create --account default --role owner
  Another password: headland users reset-password ${email}

`)
}

/** On many Linux systems the resolver does not know names under `localhost`. */
const LOCALHOST_NOTE = `
  Browsers and curl know that *.localhost is this machine; Node, Python and others may not. 'headland open' and
  'headland curl' work everywhere; the setting domain gives sites other names.
`
