/** The repository elsewhere that an environment follows. */
import { etagOf, expectedEtag } from '../../etag.ts'
import { LIMITS } from '../../limits.ts'
import { LINE_OF_TEXT, lineOfText } from '../../names.ts'
import { boolean, integer, nullable, object, oneOf, optional, type Static, string, time } from '../../schema.ts'

export const REPOSITORY_PROVIDERS = ['GITHUB', 'GITLAB', 'GITEA', 'BITBUCKET'] as const
export type RepositoryProvider = (typeof REPOSITORY_PROVIDERS)[number]

const url = string({
  minLength: 1,
  maxLength: LIMITS.repositoryUrlLength,
  description:
    'Where it is: `https://github.com/acme/site.git`, `ssh://git@github.com/acme/site.git` or `git@github.com:acme/site.git`. A user name with a password or a token in it is refused.',
})
const branch = string({
  minLength: 1,
  maxLength: LIMITS.branchLength,
  pattern: lineOfText,
  'x-form': LINE_OF_TEXT,
  description: 'The branch whose commits are deployed.',
})
const provider = nullable(oneOf(REPOSITORY_PROVIDERS), {
  description:
    'What runs there, which decides how its calls are checked and how statuses are sent; Forgejo counts as GITEA. Known from the host unless it is given. Null: another git server, which is only polled.',
})
const username = string({
  maxLength: LIMITS.textLength,
  pattern: '^[^:\\s\\p{Cc}\\p{Cs}]*$',
  'x-form': 'must be a user name without colons and blanks',
  description: 'Sent with the token over https; empty for what the provider expects with a token.',
})
const token = string({
  minLength: 1,
  maxLength: LIMITS.repositoryTokenLength,
  pattern: '^[\\x21-\\x7e]+$',
  'x-form': 'must be one word of visible ASCII characters',
  description:
    'A token that may read the repository over https and, for statuses, write them. Stored sealed, and never shown.',
})
const deployKey = string({
  maxLength: LIMITS.repositoryKeyLength,
  description:
    'A private key of OpenSSH without a passphrase, for an address of ssh. Without one, the service makes a key, and shows its public part. Stored sealed, and never shown.',
})
const knownHosts = string({
  maxLength: LIMITS.knownHostsLength,
  description:
    "The keys of the server for an address of ssh, as lines of OpenSSH's known_hosts. Empty: the key that the server has at the first contact is kept, and another one is refused from then on.",
})
const pollMinutes = nullable(integer({ minimum: 1, maximum: LIMITS.maxPollMinutes }), {
  description: 'How often the branch is looked at, whether or not the provider calls. Null: never.',
})
const sendsStatuses = boolean({
  description: 'Whether the provider is told how each build of a commit goes. It takes a token.',
})

const problem = object(
  {
    reason: string({ description: 'One of the reasons of the error reference.' }),
    message: string({ description: 'What happened, and what to do next.' }),
    time: time('When it happened.'),
    retryTime: optional(time('When it is tried again by itself.')),
  },
  { title: 'RepositoryProblem' },
)

const shown = {
  name: string({ description: '`accounts/…/environments/{environment}/repository`' }),
  url,
  branch,
  provider,
  username,
  hasToken: boolean({ description: 'Whether a token is stored.' }),
  publicKey: string({
    description:
      'The public part of the deploy key, to be added to the repository as a key that reads; empty without one.',
  }),
  knownHosts,
  pollMinutes,
  sendsStatuses,
  hookUrl: string({
    description: 'Where the provider calls after a push, with the secret that was shown; it contains no secret itself.',
  }),
  fetching: boolean({ description: 'Whether a fetch is wanted or under way.' }),
  lastCommit: string({ description: 'The commit that was last fetched and deployed; empty before.' }),
  lastFetchTime: optional(time('When the branch was last looked at with success.')),
  lastOperation: string({ description: 'The operation that deployed it; empty before.' }),
  problem: nullable(problem, { description: 'Why the last fetch failed.' }),
  statusProblem: nullable(problem, { description: 'Why the provider did not take the last status of a commit.' }),
  createTime: time('When it was connected.'),
  updateTime: time('When it was last changed.'),
  etag: etagOf('what `PATCH` can set'),
}

export const repository = object(shown, { title: 'Repository' })
export type Repository = Static<typeof repository>

export const issuedRepository = object(
  {
    ...shown,
    hookSecret: string({ description: 'The secret for the settings of the hook at the provider; shown only once.' }),
  },
  { title: 'IssuedRepository' },
)
export type IssuedRepository = Static<typeof issuedRepository>

export const newRepository = object(
  {
    url,
    branch: optional({ ...branch, default: 'main' }),
    provider: optional(provider),
    username: optional(username),
    token: optional(token),
    deployKey: optional(deployKey),
    knownHosts: optional(knownHosts),
    pollMinutes: optional(pollMinutes),
    sendsStatuses: optional({ ...sendsStatuses, default: true }),
  },
  { title: 'NewRepository' },
)
export type NewRepository = Static<typeof newRepository>

export const changedRepository = object(
  {
    url: optional(url),
    branch: optional(branch),
    provider: optional(provider),
    username: optional(username),
    token: optional(nullable(token, { description: 'Null removes the stored one.' })),
    deployKey: optional({ ...deployKey, description: 'Empty: the service makes a new one.' }),
    knownHosts: optional(knownHosts),
    pollMinutes: optional(pollMinutes),
    sendsStatuses: optional(sendsStatuses),
    etag: expectedEtag,
  },
  {
    title: 'ChangedRepository',
    description:
      'Absent fields keep their values. With another host in `url`, a token is kept only where it is given again, and the keys of the server are learned again.',
  },
)
export type ChangedRepository = Static<typeof changedRepository>

export const pushAnswer = object(
  {
    state: oneOf(['WANTED', 'REMOVED', 'IGNORED', 'PING'], {
      description: 'WANTED: the commit is fetched and deployed. REMOVED: a preview goes with its branch.',
    }),
    message: string({ description: 'The same in words, for people who look at the calls at the provider.' }),
  },
  { title: 'PushAnswer' },
)
export type PushAnswer = Static<typeof pushAnswer>
