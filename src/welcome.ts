/** What the very first start says, once. */
import type { Database } from './data-folder.ts'

/** The very first start makes an account and its owner, and says so once. There is no default password. */
export async function welcome(
  { accounts, users }: Pick<Database, 'accounts' | 'users'>,
  url: string,
  domain: string,
  siteUrl: (label: string) => string,
) {
  if ((await accounts.list()).length > 0) return
  const email = `owner@${domain}`
  const { password } = await users.create(email, 'default', 'owner', { makeAccount: true })
  process.stderr.write(`
  Welcome to Headland. This is shown once:

    Address    ${url}
    Help       ${url}/docs/
    Account    default
    User       ${email}
    Password   ${password?.reveal()}
    Sites      ${siteUrl('NAME')}
${domain === 'localhost' ? RESOLVED_BY : ''}
  API access: headland credentials create --account default --role owner
  Another password: headland users reset-password ${email}

`)
}

/** Who looks up a name under `localhost` by asking the system gets no answer on many a Linux. */
const RESOLVED_BY = `
  Browsers and curl know that *.localhost is this machine; Node, Python and others may not. 'headland open' and
  'headland curl' work everywhere; the setting domain gives sites other names.
`
