/**
 * Who requested something, and what was sent. Names and messages are untrusted text: each is isolated (`bdi`), so that
 * direction marks in one do not reorder the text around it.
 */
import { shortSha } from '../../api/names.ts'
import type { Commit, PromotedFrom, Requester } from '../../api/types.ts'
import css from './people.module.css'

/** Shown for all but users, since a credential can have an e-mail address as its name. */
const KINDS: Record<Requester['kind'], string> = {
  USER: '',
  CREDENTIAL: 'credential ',
  WEBHOOK: 'webhook ',
  SCHEDULE: 'schedule ',
  REPOSITORY: 'repository ',
  APP: '',
  SERVICE: '',
}

type ByProps = { requester: Requester | null /** The kind stands beside it already. */; isKindShown?: boolean }

export function By({ requester, isKindShown = false }: ByProps) {
  if (!requester) return null
  const kind = isKindShown ? '' : KINDS[requester.kind]
  return (
    <span className={css.by} title={`${kind}${requester.name}`}>
      {kind}
      <bdi>{requester.name}</bdi>
    </span>
  )
}

type SentProps = { message: string; commit: Commit | null; promotedFrom?: PromotedFrom | undefined }

/** The message, and below it the commit and its branch, and where it was promoted from. */
export function Sent({ message, commit, promotedFrom }: SentProps) {
  if (message === '' && !commit && !promotedFrom) return null
  return (
    <span className={css.sent}>
      {message !== '' && (
        <bdi className={css.message} title={message}>
          {message}
        </bdi>
      )}
      {commit && <CommitLine commit={commit} />}
      {promotedFrom && (
        <span className={css.commit}>
          <span>promoted from</span> <bdi className={css.branch}>{promotedFrom.displayName}</bdi>
        </span>
      )}
    </span>
  )
}

export function CommitLine({ commit: { sha, branch, author, repository, isDirty } }: { commit: Commit }) {
  return (
    <span className={css.commit}>
      <code title={repository === undefined ? sha : `${sha} of ${repository}`}>{shortSha(sha)}</code>
      {branch !== undefined && <bdi className={css.branch}>{branch}</bdi>}
      {author !== undefined && <bdi className={css.branch}>{author}</bdi>}
      {isDirty && <span title="What was sent differs from the commit">with changes</span>}
    </span>
  )
}
