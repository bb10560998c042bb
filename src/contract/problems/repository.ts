/** What can go wrong with the repository elsewhere that an environment follows. */
import { type Row, row } from './row.ts'

export const REPOSITORY_PROBLEMS = {
  REPOSITORY_NOT_FOUND: row({
    http: 404,
    status: 'NOT_FOUND',
    fault: 'caller',
    meaning: 'The environment follows no repository.',
    todo: 'Connect one.',
  }),
  REPOSITORY_EXISTS: row({
    http: 409,
    status: 'ALREADY_EXISTS',
    fault: 'caller',
    meaning: 'The environment follows a repository already.',
    todo: 'Change it, or disconnect it first.',
  }),
  REPOSITORY_AUTHENTICATION_FAILED: row({
    http: 400,
    status: 'FAILED_PRECONDITION',
    fault: 'caller',
    meaning: 'The repository is not there, or may not be read with the stored token or deploy key.',
    todo: 'Check the address; set a token that may read it and has not expired, or add the public key to it as a deploy key.',
  }),
  REPOSITORY_BRANCH_NOT_FOUND: row({
    http: 400,
    status: 'FAILED_PRECONDITION',
    fault: 'caller',
    meaning: 'The repository has no such branch.',
    todo: 'Push the branch, or set the name of another one.',
  }),
  REPOSITORY_HOST_KEY_CHANGED: row({
    http: 400,
    status: 'FAILED_PRECONDITION',
    fault: 'caller',
    meaning:
      'The server shows another key than the one that is known. It may be another server, or someone in between.',
    todo: 'Compare with the keys that the provider publishes; if the change is right, set `knownHosts` to the new key, or to nothing to learn it again.',
  }),
  REPOSITORY_TOO_LARGE: row({
    http: 413,
    status: 'RESOURCE_EXHAUSTED',
    fault: 'caller',
    meaning: 'The commit is larger than what may be fetched, or took too long.',
    todo: 'Remove large files from the branch; the operator can raise `buildDisk`, `archiveBytes` and `fetchTimeout`.',
  }),
  REPOSITORY_UNREACHABLE: row({
    http: 503,
    status: 'UNAVAILABLE',
    fault: 'caller',
    meaning: 'The server of the repository does not answer, or is not trusted.',
    todo: 'Nothing, if it passes: it is tried again. Otherwise check the address. Private addresses are reached only where the operator lists them in `allowedNetworks`.',
    retryable: true,
  }),
  REPOSITORY_FETCH_FAILED: row({
    http: 500,
    status: 'INTERNAL',
    fault: 'caller',
    meaning: 'git could not fetch the branch, for a reason of its own.',
    todo: 'The message has what git wrote last. It is tried again.',
    retryable: true,
  }),
  REPOSITORY_STATUS_REFUSED: row({
    http: 400,
    status: 'FAILED_PRECONDITION',
    fault: 'caller',
    meaning: 'The provider did not take the status of a commit.',
    todo: 'Set a token that may write commit statuses, or switch them off with `sendsStatuses`.',
  }),
} as const satisfies Record<string, Row>
