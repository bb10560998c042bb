/** Who requested something, and what was sent. Only members of the account see it. */
import { LIMITS } from '../limits.ts'
import { commitSha, LINE_OF_TEXT, lineOfText } from '../names.ts'
import { array, boolean, nullable, object, oneOf, optional, type Static, string } from '../schema.ts'

export const REQUESTER_KINDS = ['USER', 'CREDENTIAL', 'WEBHOOK', 'SCHEDULE', 'REPOSITORY', 'APP', 'SERVICE'] as const
export type RequesterKind = (typeof REQUESTER_KINDS)[number]

const requester = object(
  {
    kind: oneOf(REQUESTER_KINDS),
    name: string({
      description:
        'As it was at that time: the e-mail address of a user, the displayName of a credential, what the caller of a webhook calls itself or the action of the webhook, the name of an app.',
    }),
  },
  { title: 'Requester' },
)
export type Requester = Static<typeof requester>

export const requestedBy = nullable(requester, {
  description: 'Who requested it. Null if an earlier version of the service did not record it.',
})

const branch = string({
  maxLength: LIMITS.branchLength,
  pattern: lineOfText,
  'x-form': LINE_OF_TEXT,
  description: 'The branch that was checked out.',
})
const subject = string({
  maxLength: LIMITS.messageLength,
  pattern: lineOfText,
  'x-form': LINE_OF_TEXT,
  description: "The first line of the commit's message.",
})
const isDirty = boolean({
  description: 'Whether the archive differs from the commit. Absent if that is not known.',
})

const author = string({
  maxLength: LIMITS.authorLength,
  pattern: lineOfText,
  'x-form': LINE_OF_TEXT,
  description: 'The name of its author.',
})
const repository = string({
  maxLength: LIMITS.repositoryLength,
  description: 'The address of the repository that it was fetched from, without credentials.',
})

const notes = array(string(), {
  description: 'What of the commit is not in the archive, in sentences: submodules, and files of Git LFS.',
})

export const commitFields = object(
  {
    sha: commitSha,
    branch: optional(branch),
    subject: optional(subject),
    author: optional(author),
    repository: optional(repository),
    isDirty: optional(isDirty),
    notes: optional(notes),
  },
  { title: 'Commit' },
)
export type Commit = Static<typeof commitFields>

/** The message and the commit that were sent with an archive. Kept with the archive: a rebuild of it shows the same. */
export type Described = { message: string; commit: Commit | null }

export const described = {
  message: string({
    description: "The sender's message about the archive; without one, the commit's subject, or empty.",
  }),
  commit: nullable(commitFields, { description: 'The git commit of the archive, as its sender states it.' }),
}

/** The same as query parameters of an upload, since its form has one part, the archive. */
export const describedQuery = {
  message: optional(
    string({
      maxLength: LIMITS.messageLength,
      pattern: lineOfText,
      'x-form': LINE_OF_TEXT,
      description: 'What this archive is about: one line of text, shown with its builds and deployments.',
    }),
  ),
  commit: optional({ ...commitSha, description: 'The git commit that the archive was made from.' }),
  commitBranch: optional({ ...branch, description: 'Its branch; only with `commit`.' }),
  commitSubject: optional({ ...subject, description: 'The first line of its message; only with `commit`.' }),
  commitDirty: optional({ ...isDirty, description: 'Whether the archive differs from it; only with `commit`.' }),
}
