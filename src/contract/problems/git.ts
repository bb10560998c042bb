/** What can go wrong with repositories. */
import { row } from './row.ts'

export const GIT_PROBLEMS = {
  GIT_UNAVAILABLE: row({
    http: 503,
    status: 'UNAVAILABLE',
    fault: 'service',
    meaning:
      'This service cannot run git: it is not installed or, in a cluster, no worker is connected or the worker was lost.',
    todo: 'Try again. If it stays, the operator installs it with `apt install git` (`headland doctor` says what is missing) or, in a cluster, looks at the workers and their `controlAddresses`. Uploads work without it.',
  }),
  GIT_FAILED: row({
    http: 400,
    status: 'FAILED_PRECONDITION',
    fault: 'caller',
    meaning: 'Git could not do with the repository what was asked for; the message has its words.',
    todo: 'Do as the message says. `git fsck` in the repository shows objects that are damaged or that git refuses.',
  }),
  TOO_MANY_REFS: row({
    http: 413,
    status: 'RESOURCE_EXHAUSTED',
    fault: 'caller',
    meaning: 'The repository would have more branches and tags than it may have, or one push changes too many.',
    todo: 'Delete branches and tags that are not needed, or push fewer at a time.',
  }),
  PUSH_TOO_LARGE: row({
    http: 413,
    status: 'RESOURCE_EXHAUSTED',
    fault: 'caller',
    meaning: 'The push has more bytes than an archive may have.',
    todo: 'Push a part of the history at a time, or keep large files out of it. The operator can raise `archiveBytes`.',
  }),
  TOO_MANY_GIT_REQUESTS: row({
    http: 429,
    status: 'RESOURCE_EXHAUSTED',
    fault: 'caller',
    meaning: 'The account has too many fetches and pushes open at a time.',
    todo: 'Wait until some are done.',
    retryable: true,
  }),
} as const
