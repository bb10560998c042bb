/**
 * Confirms the account to which source or values of variables are sent. The author of `.headland.json` may have named an
 * account of their own, of which the user is a member too; so the first use is confirmed, and the confirmation is stored with
 * the log-ins and not in the project.
 */
import { UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import { createSavedLogins } from '../connection/saved-logins.ts'
import { Interrupted } from '../output/terminal.ts'
import { confirm } from '../questions.ts'
import { PROJECT_FILE } from './project-file.ts'
import type { AtAccount } from './where.ts'

/** Ends the command unless the user has chosen the account: by typing it, by an API credential for it, or earlier. */
export async function makeSureOfAccount(call: ClientCall, at: AtAccount): Promise<void> {
  const { terminal, options, environment } = call
  const { service, account, project } = at
  // An API credential is made for one account, and the service takes it for no other.
  if (at.isCredentialGiven) return
  const logins = createSavedLogins(environment.configFolder)
  const isNamedByFile = options.account === undefined && project.account !== undefined
  if (isNamedByFile && !(await logins.isConfirmed(service.url, account))) {
    const news = `${PROJECT_FILE} names the account ${account} of ${service.url}, to which you have sent nothing so far`
    if (!terminal.isInteractive || options.yes) {
      throw new UsageError(`${news}. Its members can read what you send: add --account ${account} if that is meant`)
    }
    terminal.say(`${news}. Its members can read what you send.`)
    if (!(await confirm(terminal, 'Send to it?', false))) throw new Interrupted()
  }
  await logins.confirm(service.url, account)
}
