/** Records which hosts a build contacted, and names the notable ones in its log. */
import type { Environment } from '../../apps/index.ts'
import type { Build, Builds } from '../../builds/index.ts'
import { type Contact, type ContactOutcome, newContacts } from '../../engines/index.ts'
import type { Progress } from './progress.ts'
import { outcomeInWords } from './suspicion.ts'

type Parts = {
  builds: Pick<Builds, 'contactsBefore' | 'contacted'>
  environment: Environment
  build: Build
  progress: Pick<Progress, 'say'>
}

/** New hosts are named: a dependency that contacts another host than yesterday is worth a look. */
export async function recordContacts(called: readonly Contact[], { builds, environment, build, progress }: Parts) {
  const contacts = newContacts(called, await builds.contactsBefore(environment.id, build.id))
  await builds.contacted(build.id, contacts)
  const refused = contacts.filter(({ isRefused }) => isRefused)
  const fresh = contacts.filter(({ isNew, isRefused }) => isNew && !isRefused)
  const failed = contacts.filter(isFailed)
  if (fresh.length > 0) {
    progress.say(`This build contacted hosts that earlier builds did not: ${contactsInWords(fresh)}.`)
  }
  if (failed.length > 0) progress.say(`It could not reach ${contactsInWords(failed, outcomeInWords)}.`)
  if (refused.length > 0) {
    const named = contactsInWords(refused)
    progress.say(`The network did not let it call ${named}. The operator allows a host by the setting allowedNetworks.`)
  }
}

const MAX_NAMED = 10

/** Contacts that the rules forbid are named separately. A message by UDP may need no answer. */
const isFailed = ({ outcome, protocol }: Contact): boolean =>
  outcome === 'CONNECTION_REFUSED' || outcome === 'NAME_NOT_RESOLVED' || (outcome === 'NO_ANSWER' && protocol === 'tcp')

function contactsInWords(contacts: readonly Contact[], why?: (outcome: ContactOutcome) => string): string {
  const names = contacts.map(({ host, addresses, port, outcome }) => {
    const name = `${host ?? addresses[0]}${port === null ? '' : `:${port}`}`
    return why && outcome ? `${name} (it ${why(outcome)})` : name
  })
  const more = names.length - MAX_NAMED
  return names.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
