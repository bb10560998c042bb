/** Requesters, commits and digests as text for a terminal. */
import type { AuditActor, Build, Commit, Requester } from '../../client/index.ts'
import { names, shortId } from '../../contract/index.ts'
import type { Terminal } from './terminal.ts'

/** The kind is shown for all but users: a credential can have an e-mail address as its name, too. */
const KINDS: Record<AuditActor['kind'], string> = {
  USER: '',
  CREDENTIAL: 'credential ',
  WEBHOOK: 'webhook ',
  SCHEDULE: 'schedule ',
  REPOSITORY: 'repository ',
  APP: '',
  SERVICE: '',
  OPERATOR: 'operator ',
}

/** Empty where a service of an earlier version did not record it. */
export const requesterInWords = (requester: Requester | null | undefined): string =>
  requester ? `${KINDS[requester.kind] ?? ''}${requester.name}` : ''

/** Who did what the audit log has; a service may send something else. */
export const actorInWords = (actor: AuditActor | undefined): string =>
  actor ? `${KINDS[actor.kind] ?? ''}${actor.name}` : ''

/** `c0ffee0 main`; a plus marks what was sent with changes that were not committed. */
export function commitInWords(commit: Commit | null | undefined): string {
  if (!commit) return ''
  const sha = `${names.shortSha(commit.sha)}${commit.isDirty ? '+' : ''}`
  return commit.branch ? `${sha} ${commit.branch}` : sha
}

/** For people the end of the id, as in the portal; for programs the whole id. */
export const idFor = ({ isShown }: Pick<Terminal, 'isShown'>, name: string): string =>
  isShown ? shortId(name) : name.slice(name.lastIndexOf('/') + 1)

/** The same of the digest of an archive. A service of an earlier version names none with a deployment. */
export const digestFor = ({ isShown }: Pick<Terminal, 'isShown'>, archive: { digest: string } | undefined): string =>
  archive === undefined ? '' : isShown ? names.shortDigest(archive.digest) : archive.digest

type Asked = Partial<Pick<Build, 'requestedBy' | 'commit' | 'message'>>

/** What requested it, and where it was promoted from. */
export const triggerInWords = ({ trigger, promotedFrom }: Pick<Build, 'promotedFrom'> & { trigger?: string }) =>
  `${trigger ?? ''}${promotedFrom ? `, promoted from ${promotedFrom.displayName}` : ''}`

/** The columns that builds, deployments, operations and triggers have in common. */
export const peopleColumns = ({ commit, message = commit?.subject ?? '' }: Asked) => ({
  commit: commitInWords(commit),
  author: commit?.author ?? '',
  message,
})
