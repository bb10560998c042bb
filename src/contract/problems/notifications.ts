/** What can be wrong with where notices are sent. */
import { type Row, row } from './row.ts'

export const NOTIFICATION_PROBLEMS = {
  NOTIFICATION_TARGET_NOT_FOUND: row({
    http: 404,
    status: 'NOT_FOUND',
    fault: 'caller',
    meaning: 'There is no such notification target in the account.',
    todo: 'List the notification targets.',
  }),
  TOO_MANY_NOTIFICATION_TARGETS: row({
    http: 429,
    status: 'RESOURCE_EXHAUSTED',
    fault: 'caller',
    meaning: 'The account has as many notification targets as it may have.',
    todo: 'Delete one that is no longer needed.',
  }),
  ADDRESS_NOT_ALLOWED: row({
    http: 400,
    status: 'FAILED_PRECONDITION',
    fault: 'caller',
    meaning: 'The address is one that the service does not call for tenants: plain HTTP, or an address inside.',
    todo: 'Use an https address in the internet, or ask the operator to allow the host (the setting `egressHosts`).',
  }),
  EMAIL_NOT_SET_UP: row({
    http: 400,
    status: 'FAILED_PRECONDITION',
    fault: 'caller',
    meaning: 'The service has no mail server, so it sends no e-mail.',
    todo: 'Ask the operator to set one (the settings `smtpUrl` and `smtpFrom`), or use another kind of target.',
  }),
  TOO_MANY_TEST_NOTICES: row({
    http: 429,
    status: 'RESOURCE_EXHAUSTED',
    fault: 'caller',
    meaning: 'The account has sent many test notices in the last minute.',
    todo: 'Wait as long as `Retry-After` says.',
    retryable: true,
  }),
} as const satisfies Record<string, Row>
